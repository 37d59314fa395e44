-- Counts a record again that uncount_record.sql has taken out, as it is now. Where the day has more combinations than it may have,
-- which of them are admitted depends on their order in the feed: the counts of the project then begin anew.
--
-- :project_id    uuid
-- :sequence_id   bigint
-- :combinations  integer   how many a day may have
with record as materialized (
  select (r."timestamp" at time zone 'UTC')::date as day, r.action, coalesce(r.actor_id, r.actor_name) as actor, r.outcome
  from annals.places(:project_id, :sequence_id::bigint, :sequence_id::bigint) as place
  join annals.audit_record as r on r.project_id = :project_id and r.id = place.record_id
), known as materialized (
  select *,
    exists (
      select from annals.daily_count as c
      where c.project_id = :project_id and c.day = record.day
        and c.key = annals.combination_key(record.action, record.actor, record.outcome)) as known,
    exists (
      select from annals.daily_count as c
      where c.project_id = :project_id and c.day = record.day and c.key = annals.combination_key(null, null, null)) as crowded,
    coalesce((
      select combination_count from annals.daily_total as t
      where t.project_id = :project_id and t.day = record.day), 0) as known_count
  from record
), admitted as materialized (
  select *, known or known_count < :combinations::integer as admitted from known
), counted as (
  insert into annals.daily_count as c (project_id, day, key, record_count, action, actor, outcome)
  select :project_id, day, annals.combination_key(shown.action, shown.actor, shown.outcome), 1,
    shown.action, shown.actor, shown.outcome
  from admitted
  cross join lateral (
    select case when admitted then action end, case when admitted then actor end, case when admitted then outcome end)
    as shown (action, actor, outcome)
  on conflict (project_id, day, key) do update set record_count = c.record_count + 1
), totalled as (
  update annals.daily_total as t
  set combination_count = t.combination_count + 1
  from admitted
  where t.project_id = :project_id and t.day = admitted.day and admitted.admitted and not admitted.known
)
update annals.projection_checkpoint as checkpoint
set generation = projection.generation - 1
from annals.projection, admitted
where checkpoint.project_id = :project_id and checkpoint.projection = 'statistics' and projection.name = 'statistics'
  and (admitted.crowded or not admitted.admitted)
