-- A page of a feed, oldest first, without filters.
--
-- $1 project_id   uuid
-- $2 sequence_id  bigint    the page begins behind it; 0 is the start of the feed
-- $3 limit        integer   how many records at most
--
-- The first row names the places of the page, in order: sequence_ids bigint[], record_ids uuid[], both null where there is
-- none. The place at $2 itself comes first, so that the caller can check its cursor. Then a row a record, in any order:
-- the array columns null, and the columns of the record.
--
-- The records are fetched as id = any (array): PostgreSQL 17 and newer walk the index once for all of them, which makes
-- a page nearly as fast as one from a single table. A join over the places descends the index once a record.
with segment as materialized (
  select append_id, first_sequence_id, last_sequence_id,
    -- how many records the segments before it hold
    sum((last_sequence_id - first_sequence_id + 1)::integer) over (
      order by first_sequence_id rows between unbounded preceding and 1 preceding) as records_before
  from annals.feed_segment
  where project_id = $1
    -- from the segment that holds $2
    and first_sequence_id >= coalesce(
      (select max(first_sequence_id) from annals.feed_segment where project_id = $1 and first_sequence_id <= $2), 1)
  order by first_sequence_id
  limit $3 + 1
), place as materialized (
  select sequence_id, record_id
  from (
    select first_sequence_id as sequence_id, append_id as record_id
    from segment
    where first_sequence_id = last_sequence_id
    union all
    select segment.first_sequence_id + r.position - 1, r.record_id
    from segment
    -- a subquery and no join, which a bad guess of the planner's could turn into a walk over all appends
    cross join lateral unnest(
      (select record_ids from annals.append where project_id = $1 and id = segment.append_id))
      with ordinality as r (record_id, position)
    where segment.first_sequence_id < segment.last_sequence_id
      -- only as many as the page can need, and the first segment, which may hold little behind $2
      and coalesce(segment.records_before, 0) <= $3 + 256
  ) as unfolded
  where sequence_id >= $2
  order by sequence_id
  limit $3 + 1
)
select
  array_agg(sequence_id) as sequence_ids,
  array_agg(record_id) as record_ids,
  null::uuid as id,
  null::timestamptz as "timestamp",
  null::timestamptz as recorded_at,
  null::varchar as action,
  null::varchar as actor_type,
  null::varchar as actor_id,
  null::varchar as actor_name,
  null::varchar as subject_type,
  null::varchar as subject_id,
  null::varchar as subject_name,
  null::varchar as outcome,
  null::text as ip_address,
  null::text as message,
  null::text as metadata,
  null::varchar as number_sequence,
  null::bigint as number_value
from place
union all
select
  null,
  null,
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
  host(r.ip_address),
  r.message,
  r.metadata::text,
  r.number_sequence,
  r.number_value
from annals.audit_record r
where r.project_id = $1
  and r.id = any (array(select record_id from place where sequence_id > $2))
