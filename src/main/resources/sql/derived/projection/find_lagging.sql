-- Finds projections that are behind, in the next projects by id and in some others.
--
-- :after        uuid      the last project of the scan before; null: begin at the first
-- :projects     integer   the most projects to scan
-- :recent       uuid[]    the others
-- :projections  text[]    names
--
-- One row per projection and project that is behind: projection text, project_id uuid, lag bigint (records), step integer (the fewest
-- records that the projection takes in), head bigint (the last sequence id), in_part boolean (false for the others). And one row with
-- nulls except project_id: the last project of the scan; null if no project follows it.
with part as materialized (
  select id from annals.project
  where id > coalesce(:after::uuid, '00000000-0000-0000-0000-000000000000')
  order by id
  limit :projects
),
looked_at as materialized (
  select id, true as in_part from part
  union all
  select id, false from unnest(:recent::uuid[]) as recent (id)
  where not exists (select from part where part.id = recent.id)
)
select projection.name as projection, looked_at.id as project_id, head.last_sequence_id - taken.sequence_id as lag,
  projection.step, head.last_sequence_id as head, looked_at.in_part
from looked_at
join annals.project as place on place.id = looked_at.id and place.placement = 'here'
cross join lateral (
  select last_sequence_id from annals.feed_segment
  where project_id = looked_at.id order by first_sequence_id desc limit 1) as head
cross join annals.projection
left join annals.projection_checkpoint as checkpoint
  on checkpoint.project_id = looked_at.id and checkpoint.projection = projection.name
cross join lateral (
  select outdated, case when outdated then 0 else coalesce(checkpoint.sequence_id, 0) end as sequence_id
  from (
    select checkpoint.generation < projection.generation
      or checkpoint.project_id is not null and checkpoint.mark is distinct from annals.projection_mark(projection.name) as outdated)
    as state) as taken
where projection.name = any (:projections::text[])
  and (head.last_sequence_id - taken.sequence_id >= projection.step or taken.outdated)
union all
select null,
  case when (select count(*) from part) = :projects then (select id from part order by id desc limit 1) end,
  null, null, null, null
