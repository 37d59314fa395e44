-- Stores a full tile, unless it exists.
--
-- :project_id  uuid
-- :level       integer
-- :tile        bigint
-- :root        bytea
-- :hashes      bytea
--
-- One row if a different tile is stored in its place, otherwise none.
with written as (
  insert into annals.merkle_tile (project_id, level, tile, root, hashes)
  values (:project_id, :level, :tile, :root, :hashes)
  on conflict (project_id, level, tile) do nothing
)
select tile from annals.merkle_tile
where project_id = :project_id and level = :level and tile = :tile and (root <> :root or hashes <> :hashes)
