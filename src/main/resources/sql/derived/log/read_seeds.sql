-- Reads the seeds of consecutive tiles.
--
-- :project_id  uuid
-- :first       bigint   the first tile
-- :last        bigint   the last tile
--
-- One row per tile that has a seed: tile bigint, seed bytea.
select tile, seed from annals.merkle_seed where annals.require_readable(:project_id) and project_id = :project_id and tile between :first and :last
