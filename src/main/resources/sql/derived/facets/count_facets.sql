-- Reads keys of six fields, and the interval, of the records in ranges of a feed that pass the filters.
--
-- :project_id  uuid
-- :first       bigint[]   the lowest sequence id of each range
-- :last        bigint[]   the highest one
-- :interval    text       minute, hour, day, month or year, in UTC
-- :seed        bigint     of the keys; without it, a writer cannot make two values share a key
-- :first_path   text[]     in the metadata; null for none
-- :second_path  text[]
-- :third_path   text[]
-- :fourth_path  text[]
-- and the binds of passes.sql.
--
-- One row of arrays, bigint[], with one element per record, all in one arbitrary order; null without records: sequence_id; action,
-- actor, subject, outcome, ip_address, recorded_by (keys, null for no value; of a party, of its id, otherwise its name); start (of the
-- interval, in seconds since 1970); metadata_0 to metadata_3 (keys of texts of at most 1,024 characters, numbers, true and false at the
-- paths; null without a path).
--
-- The service groups the records. Here, grouping would take longer than all the rest, because nearly every record may have another subject.
--
-- One query asks for all records: PostgreSQL 17 and newer then walk the index once, and a subquery per place would descend it once per
-- place. Places are then joined by hash, which limit_count.sql enables.
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
  array_agg(record.metadata_0) filter (where :first_path::text[] is not null) as metadata_0,
  array_agg(record.metadata_1) filter (where :second_path::text[] is not null) as metadata_1,
  array_agg(record.metadata_2) filter (where :third_path::text[] is not null) as metadata_2,
  array_agg(record.metadata_3) filter (where :fourth_path::text[] is not null) as metadata_3,
  -- exact for whole seconds; extract() is slower, because it returns a numeric
  array_agg(date_part('epoch', record.start)::bigint) as start
-- a subquery, so that a bad estimate of the planner cannot make it read all records of the project
from (
  select
    r.id,
    hashtextextended(r.action, :seed::bigint) as action,
    hashtextextended(coalesce(r.actor_id, r.actor_name), :seed) as actor,
    hashtextextended(coalesce(r.subject_id, r.subject_name), :seed) as subject,
    hashtextextended(r.outcome, :seed) as outcome,
    hashtextextended(host(r.ip_address), :seed) as ip_address,
    hashtextextended(annals.recorder(r.recorded_by_token, r.recorded_by_role), :seed) as recorded_by,
    case when jsonb_typeof(r.metadata::jsonb #> :first_path) in ('string', 'number', 'boolean') and length(r.metadata::jsonb #>> :first_path) <= 1024
      then hashtextextended(r.metadata::jsonb #>> :first_path, :seed) end as metadata_0,
    case when jsonb_typeof(r.metadata::jsonb #> :second_path) in ('string', 'number', 'boolean') and length(r.metadata::jsonb #>> :second_path) <= 1024
      then hashtextextended(r.metadata::jsonb #>> :second_path, :seed) end as metadata_1,
    case when jsonb_typeof(r.metadata::jsonb #> :third_path) in ('string', 'number', 'boolean') and length(r.metadata::jsonb #>> :third_path) <= 1024
      then hashtextextended(r.metadata::jsonb #>> :third_path, :seed) end as metadata_2,
    case when jsonb_typeof(r.metadata::jsonb #> :fourth_path) in ('string', 'number', 'boolean') and length(r.metadata::jsonb #>> :fourth_path) <= 1024
      then hashtextextended(r.metadata::jsonb #>> :fourth_path, :seed) end as metadata_3,
    -- date_bin() costs a third of date_trunc(), but has no months
    case when :interval::text in ('month', 'year')
      then date_trunc(:interval, r."timestamp", 'UTC')
      else date_bin((select ('1 ' || :interval)::interval), r."timestamp", '2000-01-01 00:00:00Z') end as start
  from annals.audit_record as r
  where r.project_id = :project_id and r.id = any (array(select record_id from place))
    and /* include core/query/passes */
  offset 0) as record
join place on place.record_id = record.id
