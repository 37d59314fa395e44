-- The places of records, and the feed as a view.

-- A record's sequence id, found through its append.
create or replace function annals.sequence_id(project_id uuid, record_id uuid, record_placed_with uuid) returns bigint
language sql stable parallel safe
return coalesce(
  -- an append of one record, or of the service: the record names it
  (select s.first_sequence_id + coalesce(array_position(a.record_ids, $2), 1) - 1
   from annals.feed_segment s
   left join annals.append a on a.project_id = s.project_id and a.id = s.append_id
   where s.project_id = $1 and s.append_id = $3 and (a.id is null and $3 = $2 or $2 = any (a.record_ids))),
  -- an append of a plain SQL writer: several appends share the id that the record names
  (select s.first_sequence_id + array_position(a.record_ids, $2) - 1
   from annals.append a
   join annals.feed_segment s on s.project_id = a.project_id and s.append_id = a.id
   where a.project_id = $1 and a.shared_append_id = $3 and $2 = any (a.record_ids)));

-- The writer of a record, as the API shows it.
create or replace function annals.recorder(token uuid, role text) returns text
language sql immutable parallel safe
return coalesce(
  case when annals.is_identity_id(token) then 'identity:' else 'token:' end || token::text, 'role:' || role);

-- The places of all feeds. places() unfolds a part of a feed; read_feed.sql unfolds a page by itself, which is faster by half.
-- A subquery for the ids: a bad estimate could turn a join into a scan of all appends.
create or replace view annals.place as
select segment.project_id,
       segment.first_sequence_id,
       segment.first_sequence_id + place.position - 1 as sequence_id,
       place.record_id,
       segment.mark
from annals.feed_segment as segment
-- a subquery instead of a join, which a bad estimate by the planner could turn into a scan of all appends
cross join lateral unnest(coalesce(
  (select record_ids from annals.append where append.project_id = segment.project_id and append.id = segment.append_id),
  array[segment.append_id])) with ordinality as place (record_id, position);

-- The places of a feed from first to last. PostgreSQL inlines it. It unfolds no more of an append than the range has. OFFSET 0 keeps both
-- bounds of the segments in one probe of their index.
create or replace function annals.places(project_id uuid, first bigint, last bigint)
returns table (sequence_id bigint, record_id uuid, mark integer)
language sql stable parallel safe
as $$
  select place.sequence_id, place.record_id, place.mark
  from (
    -- the segment that holds the first place
    select coalesce(max(first_sequence_id), 1) as first_sequence_id
    from annals.feed_segment where feed_segment.project_id = $1 and first_sequence_id <= $2) as holding
  cross join lateral (
    select part.first_sequence_id + place.position - 1 as sequence_id, place.record_id, part.mark
    from (
      select append_id, mark, first_sequence_id = last_sequence_id as is_single, greatest(first_sequence_id, $2) as first_sequence_id,
        (greatest(first_sequence_id, $2) - first_sequence_id + 1)::integer as lowest,
        (least(last_sequence_id, $3) - first_sequence_id + 1)::integer as highest
      from annals.feed_segment
      where feed_segment.project_id = $1 and first_sequence_id between holding.first_sequence_id and $3
        and last_sequence_id >= $2
      offset 0) as part
    cross join lateral unnest(case
      -- an append of one record is named by it
      when part.is_single then array[part.append_id]
      else (
        select record_ids[part.lowest:part.highest] from annals.append where append.project_id = $1 and append.id = part.append_id)
      end) with ordinality as place (record_id, position)
    offset 0) as place
$$;

-- The feed with its sequence ids, for people with psql. OFFSET 0 keeps the planner to the primary key: without statistics it would
-- consider a loop over all records for each place cheap.
create or replace view annals.feed as
select place.project_id,
       place.sequence_id,
       record.id,
       record."timestamp",
       record.recorded_at,
       record.action,
       record.actor_type,
       record.actor_id,
       record.actor_name,
       record.subject_type,
       record.subject_id,
       record.subject_name,
       record.outcome,
       record.ip_address,
       record.message,
       record.metadata,
       record.number_sequence,
       record.number_value,
       annals.recorder(record.recorded_by_token, record.recorded_by_role) as recorded_by,
       record.redaction -> 'redacted' as redacted
from annals.place
cross join lateral (
  select * from annals.audit_record
  where audit_record.project_id = place.project_id and audit_record.id = place.record_id
  offset 0) as record;
