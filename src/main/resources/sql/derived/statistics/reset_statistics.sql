-- Deletes the counts of a project's next days.
--
-- :project_id  uuid
-- :after       date     the last day that is already deleted; null: none
-- :days        integer  the most days
--
-- One row: last date, the last of the days; null if none was left.
with slice as materialized (
  select day from annals.daily_total
  where project_id = :project_id and day > coalesce(:after::date, '-infinity')
  order by day
  limit :days
), counted as (
  delete from annals.daily_count
  where project_id = :project_id and by_actor = any ('{false,true}') and day > coalesce(:after::date, '-infinity') and day <= (select max(day) from slice)
), totals as (
  delete from annals.daily_total
  where project_id = :project_id and day > coalesce(:after::date, '-infinity') and day <= (select max(day) from slice)
)
select max(day) as last from slice
