-- Counts by day, action, actor and outcome, or by some of them.
--
-- $1 project_id   uuid
-- $2 start        date      may be null: from the first day on
-- $3 end          date      exclusive; may be null: to the last day
-- $4 by_day       boolean
-- $5 by_action    boolean
-- $6 by_actor     boolean
-- $7 by_outcome   boolean
-- $8 scan_limit   integer   how many counts are read, at most
-- $9 limit        integer   how many results, at most
--
-- At least one row: through bigint (the sequence id up to which is counted), complete boolean (whether the limits held),
-- others bigint (records without action here, as their day has too many combinations), then a result: record_count
-- bigint (null: there is none), day date, action, actor, outcome text, each null where it is not asked for.
with source as materialized (
  select day, action, actor, outcome, record_count
  from annals.daily_count
  where project_id = $1
    and day >= coalesce($2::date, '-infinity') and day < coalesce($3::date, 'infinity')
  limit $8 + 1
), result as materialized (
  select
    case when $4 then day end as day,
    case when $5 then action end collate "C" as action,
    case when $6 then actor end collate "C" as actor,
    case when $7 then outcome end collate "C" as outcome,
    sum(record_count)::bigint as record_count
  from source
  group by 1, 2, 3, 4
  order by 1, 2, 3, 4
  limit $9 + 1
)
select
  coalesce(
    (select sequence_id from annals.projection_checkpoint where project_id = $1 and projection = 'statistics'), 0) as through,
  (select count(*) from source) <= $8 and (select count(*) from result) <= $9 as complete,
  (select coalesce(sum(record_count), 0)::bigint from source where action is null) as others,
  result.record_count, result.day, result.action, result.actor, result.outcome
from (values (1)) as always
left join result on true
order by result.day, result.action, result.actor, result.outcome
