-- Returns the seeds of 256 records each, one tile per project. Stores the given seeds where none exist yet.
--
-- :project_id  uuid[]
-- :tile        bigint[]  of each project
-- :seed        bytea[]
--
-- One row per project: project_id uuid, seed bytea. If all records of the tile have been removed, the seed is zeros.
with wanted as materialized (
  select project_id, tile, seed, annals.horizon(project_id) >= (tile + 1) * 256 as is_gone
  from unnest(:project_id::uuid[], :tile::bigint[], :seed::bytea[]) as wanted (project_id, tile, seed)
), drawn as (
  insert into annals.merkle_seed (project_id, tile, seed)
  select project_id, tile, seed from wanted where not is_gone
  on conflict (project_id, tile) do nothing
  returning project_id, seed
)
select project_id, seed from drawn
union all
select project_id, stored.seed
from wanted
cross join lateral (
  select seed from annals.merkle_seed where project_id = wanted.project_id and tile = wanted.tile
  offset 0) as stored
union all
select project_id, decode(repeat('00', 8192), 'hex')
from wanted
where is_gone
  and not exists (select from annals.merkle_seed where project_id = wanted.project_id and tile = wanted.tile)
