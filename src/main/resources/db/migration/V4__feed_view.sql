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
create view annals.feed as
select record.project_id,
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
       record.metadata
from annals.feed_segment segment
left join annals.append on append.project_id = segment.project_id and append.id = segment.append_id
cross join lateral unnest(coalesce(append.record_ids, array[segment.append_id])) with ordinality as place (record_id, position)
join annals.audit_record record on record.project_id = segment.project_id and record.id = place.record_id;
