-- Stores a tile that is full, unless it is there.
--
-- :project_id  uuid
-- :level       integer
-- :tile        bigint
-- :root        bytea
-- :hashes      bytea
--
-- No row, or one where another tile is there in its place.
with written as (
  insert into annals.merkle_tile (project_id, level, tile, root, hashes)
  values (:project_id, :level, :tile, :root, :hashes)
  on conflict (project_id, level, tile) do nothing
)
select tile from annals.merkle_tile
where project_id = :project_id and level = :level and tile = :tile and (root <> :root or hashes <> :hashes)
