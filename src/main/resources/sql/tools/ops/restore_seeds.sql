-- Stores the seeds of the records of a tile that were restored.
--
-- :project_id  uuid
-- :tile        bigint
-- :seeds       bytea    32 bytes for each of its 256 records, zeros where there is none
insert into annals.merkle_seed (project_id, tile, seed) values (:project_id, :tile, :seeds)
