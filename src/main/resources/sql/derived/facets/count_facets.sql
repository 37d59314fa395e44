-- The records in ranges of a feed that pass the filters: of each, keys that stand for the values of six fields, and the interval it is in.
--
-- :project_id  uuid
-- :first       bigint[]   the ranges, each from its lowest sequence id
-- :last        bigint[]   to its highest one
-- :interval    text       minute, hour, day, month or year, in UTC
-- :seed        bigint     of the keys; nobody can make two values share a key without knowing it
-- and those of passes.sql.
--
-- One row of arrays with one element per record, null if there is no record; in any order, but the same in each: sequence_id, action,
-- actor, subject, outcome, ip_address, recorded_by (keys, null for a record without a value), start (of the interval, in seconds
-- since 1970), all of them bigint[]. Of parties, the value is the id, otherwise the name.
--
-- Grouping is left to the service. Here it would take longer than all the rest, as nearly every record may have a subject of its own.
--
-- All records are asked for at once: PostgreSQL 17 and newer walk the index once for them, and a subquery for each place descends it
-- once a place. Then their places are joined by their hashes, which limit_count.sql allows.
with place as materialized (
  select place.sequence_id, place.record_id
  from unnest(:first::bigint[], :last::bigint[]) as range (first, last)
  cross join lateral annals.places(:project_id, range.first, range.last) as place
)
select
  array_agg(place.sequence_id) as sequence_id,
  array_agg(record.action) as action,
  array_agg(record.actor) as actor,
  array_agg(record.subject) as subject,
  array_agg(record.outcome) as outcome,
  array_agg(record.ip_address) as ip_address,
  array_agg(record.recorded_by) as recorded_by,
  -- Of whole seconds, so it is exact; extract() takes longer, as it gives a numeric.
  array_agg(date_part('epoch', record.start)::bigint) as start
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
    and /* include core/query/passes */
  offset 0) as record
join place on place.record_id = record.id
