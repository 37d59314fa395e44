-- Takes a record out of the counts by combination; the total of its day stays. Its transaction holds the checkpoint, and the record is
-- counted.
--
-- :project_id   uuid
-- :sequence_id  bigint
with record as materialized (
  select kind.by_actor, (r."timestamp" at time zone 'UTC')::date as day,
    annals.combination_key(r.action, case when kind.by_actor then coalesce(r.actor_id, r.actor_name) end, r.outcome) as key
  from annals.places(:project_id, :sequence_id::bigint, :sequence_id::bigint) as place
  join annals.audit_record as r on r.project_id = :project_id and r.id = place.record_id
  cross join (values (false), (true)) as kind (by_actor)
), counted as materialized (
  -- a combination is counted by itself, or as one of the further ones
  select by_actor, day,
    case
      when exists (
        select from annals.daily_count as c
        where c.project_id = :project_id and c.by_actor = record.by_actor and c.day = record.day and c.key = record.key)
      then key
      else annals.combination_key(null, null, null)
    end as key
  from record
), reduced as (
  update annals.daily_count as c
  set record_count = c.record_count - 1
  from counted
  where c.project_id = :project_id and c.by_actor = counted.by_actor and c.day = counted.day and c.key = counted.key
    and c.record_count > 1
), removed as (
  delete from annals.daily_count as c
  using counted
  where c.project_id = :project_id and c.by_actor = counted.by_actor and c.day = counted.day and c.key = counted.key
    and c.record_count = 1
  returning c.by_actor, c.day, c.action
), less as materialized (
  select day, count(*) filter (where not by_actor) as combinations, count(*) filter (where by_actor) as actor_combinations
  from removed
  where action is not null
  group by day
)
update annals.daily_total as t
set combination_count = t.combination_count - less.combinations,
  actor_combination_count = t.actor_combination_count - less.actor_combinations
from less
where t.project_id = :project_id and t.day = less.day
