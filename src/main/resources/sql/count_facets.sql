-- Counts the records in ranges of a feed that pass the filters: all of them, by the values of six fields, and by intervals.
--
-- :project_id  uuid
-- :first       bigint[]   the ranges, each from its lowest sequence id
-- :last        bigint[]   to its highest one
-- :interval    text       minute, hour, day, month or year, in UTC
-- :seed        bigint     of the keys; nobody can make two values share a key without knowing it
-- and those of passes.sql.
--
-- Rows: field integer (0 to 5: action, actor, subject, outcome, IP address, recorder; 6: interval and outcome; 7: all records),
-- key bigint (stands for the value; null: the records that have none), start bigint (of the interval, in seconds since 1970),
-- record_count integer, newest bigint (the highest sequence id among them). Of parties, the value is the id, otherwise the name.
--
-- All records are asked for at once: PostgreSQL 17 and newer walk the index once for them, and a subquery for each place descends it
-- once a place. Then their places are joined by their hashes, which limit_count.sql allows.
with place as materialized (
  select place.sequence_id, place.record_id
  from unnest(:first::bigint[], :last::bigint[]) as range (first, last)
  cross join lateral annals.places(:project_id, range.first, range.last) as place
), record as materialized (
  select place.sequence_id, r.*
  -- a subquery of its own, so that a bad estimate by the planner cannot make it read all records of the project
  from (
    select
      r.id,
      hashtextextended(r.action, :seed::bigint) as action,
      hashtextextended(coalesce(r.actor_id, r.actor_name), :seed) as actor,
      hashtextextended(coalesce(r.subject_id, r.subject_name), :seed) as subject,
      hashtextextended(r.outcome, :seed) as outcome,
      hashtextextended(host(r.ip_address), :seed) as ip_address,
      hashtextextended(annals.recorder(r.recorded_by_token, r.recorded_by_role), :seed) as recorded_by,
      -- date_bin() costs a third of date_trunc(), but knows no months.
      case when :interval::text in ('month', 'year')
        then date_trunc(:interval, r."timestamp", 'UTC')
        else date_bin((select ('1 ' || :interval)::interval), r."timestamp", '2000-01-01 00:00:00Z') end as start
    from annals.audit_record as r
    where r.project_id = :project_id and r.id = any (array(select record_id from place))
      and /* include passes */
    offset 0) as r
  join place on place.record_id = r.id
)
select
  case grouping(action, actor, subject, outcome, ip_address, recorded_by, start)
    when 63 then 0 when 95 then 1 when 111 then 2 when 119 then 3 when 123 then 4 when 125 then 5 when 118 then 6 else 7
  end as field,
  coalesce(action, actor, subject, outcome, ip_address, recorded_by) as key,
  extract(epoch from start)::bigint as start,
  count(*)::integer as record_count,
  max(sequence_id) as newest
from record
group by grouping sets
  ((record.action), (record.actor), (record.subject), (record.outcome), (record.ip_address), (record.recorded_by),
  (record.start, record.outcome), ())
