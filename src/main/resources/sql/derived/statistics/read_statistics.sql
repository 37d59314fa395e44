-- Reads counts by any of day, action, actor and outcome. The cost of counts without actors does not depend on the number of actors.
--
-- :project_id  uuid
-- :start       date      null: from the first day
-- :end         date      exclusive; null: to the last day
-- :by_day      boolean
-- :by_action   boolean
-- :by_actor    boolean
-- :by_outcome  boolean
-- :scan_limit  integer   the most counts to read
-- :limit       integer   the most results
-- :bytes       bigint    the most bytes of their texts together
--
-- At least one row: through bigint (the last sequence id counted), complete boolean (whether the limits held), others bigint (records
-- counted without action because their day has too many combinations), and a result: record_count bigint (null: no result), day date,
-- action, actor, outcome text, each null if it is not requested.
with source as materialized (
  select day, action, actor, outcome, record_count
  from annals.daily_count
  where project_id = :project_id and daily_count.by_actor = :by_actor
    and day >= coalesce(:start::date, '-infinity') and day < coalesce(:end::date, 'infinity')
  limit :scan_limit + 1
), result as materialized (
  select
    case when :by_day then day end as day,
    case when :by_action then action end collate "C" as action,
    case when :by_actor then actor end collate "C" as actor,
    case when :by_outcome then outcome end collate "C" as outcome,
    sum(record_count)::bigint as record_count
  from source
  group by 1, 2, 3, 4
  order by 1, 2, 3, 4
  limit :limit + 1
), answer as materialized (
  select
    (select count(*) from source) <= :scan_limit
    and count(*) <= :limit
    and coalesce(sum(
      coalesce(octet_length(action), 0) + coalesce(octet_length(actor), 0) + coalesce(octet_length(outcome), 0)), 0)
      <= :bytes as complete
  from result
)
select
  coalesce(
    (select sequence_id from annals.projection_checkpoint
     where project_id = :project_id and projection = 'statistics'), 0) as through,
  answer.complete,
  (select coalesce(sum(record_count), 0)::bigint from source where action is null) as others,
  result.record_count, result.day, result.action, result.actor, result.outcome
from answer
left join result on answer.complete
where annals.require_readable(:project_id)
order by result.day, result.action, result.actor, result.outcome
