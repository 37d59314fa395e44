-- The seeds of some tiles.
--
-- :project_id  uuid
-- :first       bigint   a tile
-- :last        bigint   another
--
-- One row for each that has a seed: tile bigint, seed bytea.
select tile, seed from annals.merkle_seed where project_id = :project_id and tile between :first and :last
