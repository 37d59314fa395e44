-- The stored tile of a log: the seed of its salts, and the entries of a full tile.
--
-- :project_id  uuid
-- :tile        bigint
--
-- One row: seed bytea, hashes bytea, root bytea; each null if it is missing. The seed is zeros once all records of the tile have expired.
select
  coalesce(
    (select seed from annals.merkle_seed where project_id = wanted.project_id and tile = wanted.tile),
    case when annals.horizon(wanted.project_id) >= (wanted.tile + 1) * 256 then decode(repeat('00', 8192), 'hex') end) as seed,
  (select hashes from annals.merkle_tile where project_id = wanted.project_id and level = 0 and tile = wanted.tile) as hashes,
  (select root from annals.merkle_tile where project_id = wanted.project_id and level = 0 and tile = wanted.tile) as root
from (values (:project_id::uuid, :tile::bigint)) as wanted (project_id, tile)
