-- Scans a part of a feed, oldest first, for records that pass the filters.
--
-- $1 project_id   uuid
-- $2 sequence_id  bigint        the scan begins behind it; 0 is the start of the feed
-- $3 scan_limit   integer       how many records are looked at, at most
-- $4 start        timestamptz   this and the following may be null: any
-- $5 end          timestamptz   exclusive
-- $6 action       text
-- $7 actor        text          id or name
-- $8 subject      text          id or name
-- $9 outcome      text
-- $10 limit       integer       how many records at most
--
-- Rows in sequence order: sequence_id bigint, record_id uuid, and the columns of the record, which are null for two
-- rows that stand there for cursors: the record at $2, and the last one looked at where it does not pass.
with segment as materialized (
  select append_id, first_sequence_id
  from annals.feed_segment
  where project_id = $1
    and first_sequence_id >= coalesce(
      (select max(first_sequence_id) from annals.feed_segment where project_id = $1 and first_sequence_id <= $2), 1)
  order by first_sequence_id
  limit $3 + 1
), place as materialized (
  select segment.first_sequence_id + r.position - 1 as sequence_id, r.record_id
  from segment
  cross join lateral unnest(coalesce(
    (select record_ids from annals.append where project_id = $1 and id = segment.append_id),
    array[segment.append_id])) with ordinality as r (record_id, position)
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
  r.metadata::text as metadata,
  r.number_sequence,
  r.number_value
from place
left join annals.audit_record r on r.project_id = $1 and r.id = place.record_id and place.sequence_id > $2
    -- filters; null is any
    and ($4::timestamptz is null or r."timestamp" >= $4)
    and ($5::timestamptz is null or r."timestamp" < $5)
    and ($6::text is null or r.action = $6)
    and ($7::text is null or r.actor_id = $7 or r.actor_name = $7)
    and ($8::text is null or r.subject_id = $8 or r.subject_name = $8)
    and ($9::text is null or r.outcome = $9)
where r.id is not null
  or place.sequence_id = $2
  or place.sequence_id = (select max(sequence_id) from place)
order by place.sequence_id
limit $10 + 2
