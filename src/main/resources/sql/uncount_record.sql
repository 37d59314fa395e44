-- Takes a record out of the counts by combination; the day's total stays as it is. Its transaction holds the checkpoint, which is
-- behind the record.
--
-- :project_id   uuid
-- :sequence_id  bigint
with record as materialized (
  select (r."timestamp" at time zone 'UTC')::date as day,
    annals.combination_key(r.action, coalesce(r.actor_id, r.actor_name), r.outcome) as key
  from annals.places(:project_id, :sequence_id::bigint, :sequence_id::bigint) as place
  join annals.audit_record as r on r.project_id = :project_id and r.id = place.record_id
), counted as materialized (
  -- all records of a combination are counted under it, or all of them are among the further ones
  select day,
    case
      when exists (
        select from annals.daily_count as c
        where c.project_id = :project_id and c.day = record.day and c.key = record.key)
      then key
      else annals.combination_key(null, null, null)
    end as key
  from record
), reduced as (
  update annals.daily_count as c
  set record_count = c.record_count - 1
  from counted
  where c.project_id = :project_id and c.day = counted.day and c.key = counted.key and c.record_count > 1
), removed as (
  delete from annals.daily_count as c
  using counted
  where c.project_id = :project_id and c.day = counted.day and c.key = counted.key and c.record_count = 1
  returning c.day, c.action
)
update annals.daily_total as t
set combination_count = t.combination_count - 1
from removed
where t.project_id = :project_id and t.day = removed.day and removed.action is not null
