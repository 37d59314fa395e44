-- The seed of 256 records, which is this one if they have none yet.
--
-- :project_id  uuid
-- :tile        bigint
-- :seed        bytea
--
-- One row: seed bytea. Where all of the records are gone, they have no seeds any more: zeros.
with drawn as (
  insert into annals.merkle_seed (project_id, tile, seed)
  select :project_id, :tile, :seed where annals.horizon(:project_id) < (:tile::bigint + 1) * 256
  on conflict (project_id, tile) do nothing
  returning seed
)
select seed from drawn
union all
select seed from annals.merkle_seed where project_id = :project_id and tile = :tile
union all
select decode(repeat('00', 8192), 'hex') where annals.horizon(:project_id) >= (:tile::bigint + 1) * 256
