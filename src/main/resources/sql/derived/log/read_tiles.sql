-- Reads full tiles.
--
-- :project_id  uuid
-- :level       integer[]   of each
-- :tile        bigint[]
--
-- One row per stored tile: level integer, tile bigint, root bytea, hashes bytea.
select stored.level::integer as level, stored.tile, stored.root, stored.hashes
from unnest(:level::integer[], :tile::bigint[]) as wanted (level, tile)
join annals.merkle_tile as stored
  on stored.project_id = :project_id and stored.level = wanted.level and stored.tile = wanted.tile
