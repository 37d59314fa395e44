-- Reads the next tiles of one level; those of level 0 with their seeds.
--
-- :project_id  uuid
-- :level       integer
-- :tile        bigint   the tiles behind this one
-- :most        integer
--
-- One row: tiles text, seeds text, JSON arrays; count bigint, of the tiles.
with next_tile as materialized (
  select * from annals.merkle_tile where project_id = :project_id and level = :level and tile > :tile order by tile limit :most
)
select
  (select coalesce(jsonb_agg(to_jsonb(next_tile)), '[]')::text from next_tile) as tiles,
  (select coalesce(jsonb_agg(to_jsonb(s)), '[]')::text from annals.merkle_seed as s
   where s.project_id = :project_id and s.tile in (select tile from next_tile where level = 0)) as seeds,
  (select count(*) from next_tile) as count
