-- Counts a record again that uncount_record.sql has taken out, as it is now. If its day has more combinations than it may have, the order
-- of the feed decides which ones are admitted, so the project's counts are rebuilt.
--
-- :project_id    uuid
-- :sequence_id   bigint
-- :combinations  integer   the most combinations of a day, and as many again with actors
with record as materialized (
  select kind.by_actor, (r."timestamp" at time zone 'UTC')::date as day, r.action,
    case when kind.by_actor then coalesce(r.actor_id, r.actor_name) end as actor, r.outcome
  from annals.places(:project_id, :sequence_id::bigint, :sequence_id::bigint) as place
  join annals.audit_record as r on r.project_id = :project_id and r.id = place.record_id
  cross join (values (false), (true)) as kind (by_actor)
), known as materialized (
  select *,
    exists (
      select from annals.daily_count as c
      where c.project_id = :project_id and c.by_actor = record.by_actor and c.day = record.day
        and c.key = annals.combination_key(record.action, record.actor, record.outcome)) as known,
    exists (
      select from annals.daily_count as c
      where c.project_id = :project_id and c.by_actor = record.by_actor and c.day = record.day
        and c.key = annals.combination_key(null, null, null)) as crowded,
    coalesce((
      select case when record.by_actor then actor_combination_count else combination_count end
      from annals.daily_total as t
      where t.project_id = :project_id and t.day = record.day), 0) as known_count
  from record
), admitted as materialized (
  select *, known or known_count < :combinations::integer as admitted from known
), counted as (
  insert into annals.daily_count as c (project_id, by_actor, day, key, record_count, action, actor, outcome)
  select :project_id, by_actor, day, annals.combination_key(shown.action, shown.actor, shown.outcome), 1,
    shown.action, shown.actor, shown.outcome
  from admitted
  cross join lateral (
    select case when admitted then action end, case when admitted then actor end, case when admitted then outcome end)
    as shown (action, actor, outcome)
  on conflict (project_id, by_actor, day, key) do update set record_count = c.record_count + 1
), more as materialized (
  select day, count(*) filter (where not by_actor) as combinations, count(*) filter (where by_actor) as actor_combinations
  from admitted
  where admitted and not known
  group by day
), totalled as (
  update annals.daily_total as t
  set combination_count = t.combination_count + more.combinations,
    actor_combination_count = t.actor_combination_count + more.actor_combinations
  from more
  where t.project_id = :project_id and t.day = more.day
)
update annals.projection_checkpoint as checkpoint
set generation = projection.generation - 1
from annals.projection
where checkpoint.project_id = :project_id and checkpoint.projection = 'statistics' and projection.name = 'statistics'
  and exists (select from admitted where crowded or not admitted)
