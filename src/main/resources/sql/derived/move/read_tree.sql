-- Reads the next tiles of one level, and seeds.
--
-- :project_id  uuid
-- :level       integer
-- :tile        bigint   the tiles behind this one
-- :seed        bigint   the seeds behind this tile
-- :most        integer  of each
--
-- One row: tiles text, seeds text, JSON arrays; count bigint.
with next_tile as materialized (
  select * from annals.merkle_tile where project_id = :project_id and level = :level and tile > :tile order by tile limit :most
), next_seed as materialized (
  select * from annals.merkle_seed where project_id = :project_id and tile > :seed order by tile limit :most
)
select
  (select coalesce(jsonb_agg(to_jsonb(next_tile)), '[]')::text from next_tile) as tiles,
  (select coalesce(jsonb_agg(to_jsonb(next_seed)), '[]')::text from next_seed) as seeds,
  (select count(*) from next_tile) + (select count(*) from next_seed) as count
