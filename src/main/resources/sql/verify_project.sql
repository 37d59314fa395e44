-- Everything in one project that breaks its feed, one sentence for each finding.
--
-- :project_id  uuid
with project as materialized (select :project_id::uuid as id)

-- Segments have to follow each other: 1 to n, n + 1 to m …
select case
    when first_sequence_id > previous + 1 then format(
      'sequence ids %s to %s belong to no segment', previous + 1, first_sequence_id - 1)
    when last_sequence_id < first_sequence_id then format(
      'the segment of append %s begins at %s and ends at %s', append_id, first_sequence_id, last_sequence_id)
    else format(
      'sequence ids %s to %s belong to append %s and to the one before it',
      first_sequence_id, least(previous, last_sequence_id), append_id)
  end as finding
from (
  select append_id, first_sequence_id, last_sequence_id,
    coalesce(max(last_sequence_id) over (
      order by first_sequence_id rows between unbounded preceding and 1 preceding), 0) as previous
  from annals.feed_segment
  where project_id = (select id from project)) as segment
where first_sequence_id <> previous + 1 or last_sequence_id < first_sequence_id

union all

-- A segment holds as many places as its append has records.
select case
    when append.id is null and record.id is null then format(
      'the segment at %s belongs to append %s, which is not there', first_sequence_id, append_id)
    else format(
      'the segment at %s has %s places, and its append %s has %s records',
      first_sequence_id, last_sequence_id - first_sequence_id + 1, append_id,
      coalesce(cardinality(append.record_ids), 1))
  end
from (select * from annals.feed_segment where project_id = (select id from project)) as segment
left join annals.append on append.project_id = segment.project_id and append.id = segment.append_id
left join lateral (
  select id from annals.audit_record
  where project_id = segment.project_id and id = segment.append_id and placed_with = segment.append_id
    and append.id is null) as record on true
where last_sequence_id - first_sequence_id + 1
  is distinct from coalesce(cardinality(append.record_ids), case when record.id is not null then 1 end)

union all

-- Each place of an append belongs to a record.
select format('append %s lists record %s, which is not there', append.id, place.record_id)
from (select * from annals.append where project_id = (select id from project)) as append
cross join lateral unnest(append.record_ids) as place (record_id)
where not exists (
  select from annals.audit_record
  where project_id = append.project_id and id = place.record_id)

union all

-- Each record has a place.
select format('record %s, recorded at %s, has no place and is never read', id, recorded_at)
from annals.audit_record
where project_id = (select id from project) and annals.sequence_id(project_id, id, placed_with) is null

union all

-- Each record can be served. The schema's limits ensure that, but they may have been turned off.
select format('record %s cannot be served because of its %s', id, fields)
from annals.audit_record
cross join lateral (
  select nullif(concat_ws(', ',
    case when "timestamp" < '0001-01-01 00:00:00+00' or "timestamp" >= '10000-01-01 00:00:00+00' then 'timestamp' end,
    case when recorded_at < '0001-01-01 00:00:00+00' or recorded_at >= '10000-01-01 00:00:00+00' then 'recorded_at' end,
    case when action = '' then 'action' end,
    case when outcome = '' then 'outcome' end,
    case when octet_length(message) > 65535 then 'message' end,
    case when not annals.is_servable_metadata(metadata) then 'metadata' end,
    case when (number_sequence is null) <> (number_value is null) then 'number' end,
    case when (recorded_by_token is null) = (recorded_by_role is null) then 'recorded_by' end), '') as fields) as unfit
where project_id = (select id from project) and fields is not null

union all

-- What was redacted is gone, and its digest is there.
select format('record %s was to lose its %s in redaction %s, and has not', redaction.record_id, field, redaction.number)
from (select * from annals.redaction where project_id = (select id from project)) as redaction
cross join lateral unnest(redaction.fields) as field
left join annals.audit_record as record on record.project_id = redaction.project_id and record.id = redaction.record_id
where jsonb_exists(record.redaction -> 'redacted', field) is not true
  or jsonb_build_object(
    'actor.type', record.actor_type, 'actor.id', record.actor_id, 'actor.name', record.actor_name,
    'subject.type', record.subject_type, 'subject.id', record.subject_id, 'subject.name', record.subject_name,
    'outcome', record.outcome, 'ip_address', record.ip_address, 'message', record.message, 'metadata', record.metadata)
    ->> field is not null
