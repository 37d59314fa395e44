-- A record's sequence id, by way of its append.
create function annals.sequence_id(project_id uuid, record_id uuid, record_append_id uuid) returns bigint
language sql stable parallel safe
return coalesce(
  -- an append of one, or one of the service's: the record names it
  (select s.first_sequence_id + coalesce(array_position(a.record_ids, $2), 1) - 1
   from annals.feed_segment s
   left join annals.append a on a.project_id = s.project_id and a.id = s.append_id
   where s.project_id = $1 and s.append_id = $3 and (a.id is null and $3 = $2 or $2 = any (a.record_ids))),
  -- one of a plain SQL writer's: a few appends share what the record names
  (select s.first_sequence_id + array_position(a.record_ids, $2) - 1
   from annals.append a
   join annals.feed_segment s on s.project_id = a.project_id and s.append_id = a.id
   where a.project_id = $1 and a.shared_append_id = $3 and $2 = any (a.record_ids)));

-- The feed with its sequence ids as a plain column, for people with psql. The service reads segments (sql/read_feed.sql).
--
-- OFFSET 0 keeps the planner from joining by anything but the primary keys: while a table has no statistics yet, it took
-- a loop over all records for each place to be cheap.
create view annals.feed as
select segment.project_id,
       segment.first_sequence_id + place.position - 1 as sequence_id,
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
       coalesce('token:' || record.recorded_by_token, 'role:' || record.recorded_by_role) as recorded_by
from annals.feed_segment segment
left join lateral (
  select record_ids from annals.append
  where append.project_id = segment.project_id and append.id = segment.append_id
  offset 0) as append on true
cross join lateral unnest(coalesce(append.record_ids, array[segment.append_id])) with ordinality as place (record_id, position)
cross join lateral (
  select * from annals.audit_record
  where audit_record.project_id = segment.project_id and audit_record.id = place.record_id
  offset 0) as record;
