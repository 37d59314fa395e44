-- What is stored of the tile of a log that has these records: the seed of its salts, and, once it is full, its entries.
--
-- :project_id  uuid
-- :tile        bigint
--
-- One row: seed bytea, hashes bytea; each null if it is not there.
select
  (select seed from annals.merkle_seed where project_id = wanted.project_id and tile = wanted.tile) as seed,
  (select hashes from annals.merkle_tile where project_id = wanted.project_id and level = 0 and tile = wanted.tile) as hashes
from (values (:project_id::uuid, :tile::bigint)) as wanted (project_id, tile)
