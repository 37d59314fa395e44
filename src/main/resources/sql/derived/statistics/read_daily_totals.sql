-- Reads counts by day: read_statistics.sql for the most frequent request, from one row per day.
--
-- :project_id  uuid
-- :start       date      null: from the first day
-- :end         date      exclusive; null: to the last day
-- :limit       integer   the most days
--
-- Rows as in read_statistics.sql; others is null.
with result as materialized (
  select day, record_count
  from annals.daily_total
  where project_id = :project_id
    and day >= coalesce(:start::date, '-infinity') and day < coalesce(:end::date, 'infinity')
  order by day
  limit :limit + 1
)
select
  coalesce(
    (select sequence_id from annals.projection_checkpoint
     where project_id = :project_id and projection = 'statistics'), 0) as through,
  (select count(*) from result) <= :limit as complete,
  null::bigint as others,
  result.record_count, result.day, null::text as action, null::text as actor, null::text as outcome
from (values (1)) as always
left join result on true
where annals.require_readable(:project_id)
order by result.day
