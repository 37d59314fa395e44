-- Reads the next tiles of all levels; those of level 0 with their seeds.
--
-- :project_id  uuid
-- :tiles       bigint[]  the tiles behind these, of each level from 0 on
-- :most        integer
--
-- One row: tiles text, seeds text, JSON arrays; count bigint, of the tiles.
with next_tile as materialized (
  select t.* from generate_series(0, 7) as of (level)
  cross join lateral (
    select * from annals.merkle_tile
    where project_id = :project_id and level = of.level and tile > (:tiles::bigint[])[of.level + 1] order by tile limit :most) as t
  limit :most
)
select
  (select coalesce(jsonb_agg(to_jsonb(next_tile)), '[]')::text from next_tile) as tiles,
  (select coalesce(jsonb_agg(to_jsonb(s)), '[]')::text from annals.merkle_seed as s
   where s.project_id = :project_id and s.tile in (select tile from next_tile where level = 0)) as seeds,
  (select count(*) from next_tile) as count
