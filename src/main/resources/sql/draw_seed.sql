-- The seed of 256 records, which is this one if they have none yet.
--
-- :project_id  uuid
-- :tile        bigint
-- :seed        bytea
--
-- One row: seed bytea.
with drawn as (
  insert into annals.merkle_seed (project_id, tile, seed) values (:project_id, :tile, :seed)
  on conflict (project_id, tile) do nothing
  returning seed
)
select seed from drawn
union all
select seed from annals.merkle_seed where project_id = :project_id and tile = :tile
