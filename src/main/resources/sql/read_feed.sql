-- A page of a feed, oldest first, without filters.
--
-- $1 project_id   uuid
-- $2 sequence_id  bigint    the page begins behind it; 0 is the start of the feed
-- $3 limit        integer   how many records at most
--
-- Rows in sequence order: sequence_id bigint, record_id uuid, and the columns of the record.
-- The record at $2 itself comes first, as its id alone, so that the caller can check its cursor. No row at all: the feed
-- ends before $2.
with segment as materialized (
  select append_id, first_sequence_id
  from annals.feed_segment
  where project_id = $1
    -- from the segment that holds $2
    and first_sequence_id >= coalesce(
      (select max(first_sequence_id) from annals.feed_segment where project_id = $1 and first_sequence_id <= $2), 1)
  order by first_sequence_id
  limit $3 + 1
), place as materialized (
  select segment.first_sequence_id + r.position - 1 as sequence_id, r.record_id
  from segment
  left join annals.append on append.project_id = $1 and append.id = segment.append_id
  cross join lateral unnest(coalesce(append.record_ids, array[segment.append_id])) with ordinality as r (record_id, position)
  where segment.first_sequence_id + r.position - 1 >= $2
  order by sequence_id
  limit $3 + 1
)
select
  place.sequence_id,
  place.record_id,
  r.id,
  r."timestamp",
  r.recorded_at,
  r.action,
  r.actor_type,
  r.actor_id,
  r.actor_name,
  r.subject_type,
  r.subject_id,
  r.subject_name,
  r.outcome,
  host(r.ip_address) as ip_address,
  r.message,
  r.metadata::text as metadata
from place
left join annals.audit_record r on r.project_id = $1 and r.id = place.record_id and place.sequence_id > $2
order by place.sequence_id
