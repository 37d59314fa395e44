-- Counts by day: read_statistics.sql for the most frequent question, from a row a day.
--
-- $1 project_id  uuid
-- $2 start       date      may be null: from the first day on
-- $3 end         date      exclusive; may be null: to the last day
-- $4 limit       integer   how many days, at most
--
-- Rows as of read_statistics.sql; others is null.
with result as materialized (
  select day, record_count
  from annals.daily_total
  where project_id = $1
    and day >= coalesce($2::date, '-infinity') and day < coalesce($3::date, 'infinity')
  order by day
  limit $4 + 1
)
select
  coalesce(
    (select sequence_id from annals.projection_checkpoint where project_id = $1 and projection = 'statistics'), 0) as through,
  (select count(*) from result) <= $4 as complete,
  null::bigint as others,
  result.record_count, result.day, null::text as action, null::text as actor, null::text as outcome
from (values (1)) as always
left join result on true
order by result.day
