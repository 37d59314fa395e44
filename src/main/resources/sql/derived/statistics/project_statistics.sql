-- Counts the next records of some feeds. Its transaction holds their checkpoints.
--
-- :project_id    uuid[]
-- :sequence_id   bigint[]  the checkpoint of each project
-- :records       bigint    the most records of each
-- :combinations  integer   the most combinations of a day, and as many again with actors; records of further ones are counted together
--
-- One row per project: project_id uuid, sequence_id bigint, the last record counted; without new records, the checkpoint or the horizon.
with start as materialized (
  -- removed records do not count
  select project_id, greatest(sequence_id, annals.horizon(project_id)) as sequence_id
  from unnest(:project_id::uuid[], :sequence_id::bigint[]) as start (project_id, sequence_id)
), record as materialized (
  select start.project_id, place.sequence_id, (r."timestamp" at time zone 'UTC')::date as day, r.action,
    coalesce(r.actor_id, r.actor_name) as actor, r.outcome
  from start
  cross join lateral annals.places(start.project_id, start.sequence_id + 1, start.sequence_id + :records::bigint) as place
  -- lateral, so that a bad estimate of the planner cannot make it read all records of the project
  cross join lateral (
    select * from annals.audit_record where project_id = start.project_id and id = place.record_id
    offset 0) as r
), combination as materialized (
  select project_id, grouping(actor) = 0 as by_actor, day, action, actor, outcome, count(*) as record_count,
    min(sequence_id) as first_sequence_id, annals.combination_key(action, actor, outcome) as key
  from record
  group by grouping sets ((project_id, day, action, outcome), (project_id, day, action, actor, outcome))
), known as materialized (
  select *,
    exists (
      select from annals.daily_count c
      where c.project_id = combination.project_id and c.by_actor = combination.by_actor and c.day = combination.day
        and c.key = combination.key) as known,
    coalesce((
      select case when by_actor then actor_combination_count else combination_count end from annals.daily_total t
      where t.project_id = combination.project_id and t.day = combination.day), 0) as known_count
  from combination
), ranked as materialized (
  -- in feed order, so that a rebuild with other steps admits the same combinations
  select *, row_number() over (partition by project_id, by_actor, day, known order by first_sequence_id) as place
  from known
), admitted as materialized (
  select *, known or known_count + place <= :combinations::integer as admitted from ranked
), counted as (
  insert into annals.daily_count as c (project_id, by_actor, day, key, record_count, action, actor, outcome)
  select project_id, by_actor, day, annals.combination_key(shown.action, shown.actor, shown.outcome), sum(record_count),
    shown.action, shown.actor, shown.outcome
  from admitted
  cross join lateral (
    select case when admitted then action end, case when admitted then actor end, case when admitted then outcome end)
    as shown (action, actor, outcome)
  group by project_id, by_actor, day, shown.action, shown.actor, shown.outcome
  on conflict (project_id, by_actor, day, key) do update set record_count = c.record_count + excluded.record_count
), totalled as (
  insert into annals.daily_total as t (project_id, day, record_count, combination_count, actor_combination_count)
  select project_id, day, sum(record_count) filter (where by_actor),
    count(*) filter (where admitted and not known and not by_actor),
    count(*) filter (where admitted and not known and by_actor)
  from admitted
  group by project_id, day
  on conflict (project_id, day) do update set
    record_count = t.record_count + excluded.record_count,
    combination_count = t.combination_count + excluded.combination_count,
    actor_combination_count = t.actor_combination_count + excluded.actor_combination_count
)
select start.project_id, coalesce(taken.sequence_id, start.sequence_id) as sequence_id
from start
left join (select project_id, max(sequence_id) as sequence_id from record group by project_id) as taken using (project_id)
