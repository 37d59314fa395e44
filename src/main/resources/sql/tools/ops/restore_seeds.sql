-- Stores the seeds of a tile's restored records.
--
-- :project_id  uuid
-- :tile        bigint
-- :seeds       bytea    32 bytes for each of its 256 records, zeros for a missing record
insert into annals.merkle_seed (project_id, tile, seed) values (:project_id, :tile, :seeds)
