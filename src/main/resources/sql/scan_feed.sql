-- Looks at ranges of a feed, oldest first, for records that pass the filters.
--
--  $1 project_id   uuid
--  $2 sequence_id  bigint        the records are behind it; 0 is the start of the feed
--  $3 first        bigint[]      the ranges, each from its lowest sequence id
--  $4 last         bigint[]      to its highest one; the place at $2 belongs to them
--  $5 limit        integer       how many records at most
--  $6 start        timestamptz   this and the following may be null: any
--  $7 end          timestamptz   exclusive
--  $8 action       text
--  $9 actor        text          id or name
-- $10 subject      text          id or name
-- $11 outcome      text
-- $12 ip_address   text
-- $13 q            text          words
-- $14 recorded_by  text          token: and its id, or role: and its name
--
-- Rows in rising sequence order: sequence_id bigint, record_id uuid, and the columns of the record, which are null for two
-- rows that stand there for cursors: the lowest and the highest place looked at, where they do not pass. Rows behind the
-- first $5 + 1 records may be missing. A large message and large metadata are left out, as in read_feed.sql.
with looked_at as materialized (
  select min(first) as lowest,
    least(
      max(last),
      (select last_sequence_id from annals.feed_segment where project_id = $1 order by first_sequence_id desc limit 1)) as highest
  from unnest($3::bigint[], $4::bigint[]) as range (first, last)
), wanted as materialized (
  select annals.words($13::text) as words, array(select '%' || word || '%' from unnest(annals.words($13::text)) as word) as parts
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
  case when octet_length(r.message) <= 2048 then r.message end as message,
  case when pg_column_size(r.metadata) <= 2048 then r.metadata::text end as metadata,
  r.number_sequence,
  r.number_value,
  r.recorded_by_token,
  r.recorded_by_role,
  octet_length(r.message) > 2048 or pg_column_size(r.metadata) > 2048 as is_cut
from (
  -- a subquery in order: the records behind the last one that is wanted are never fetched
  select segment.first_sequence_id + p.position - 1 as sequence_id, p.record_id
  from unnest($3::bigint[], $4::bigint[]) as range (first, last)
  cross join lateral (
    select coalesce(max(first_sequence_id), 1) as first
    from annals.feed_segment where project_id = $1 and first_sequence_id <= range.first) as holding
  cross join lateral (
    select append_id, first_sequence_id
    from annals.feed_segment
    where project_id = $1 and first_sequence_id between holding.first and range.last) as segment
  cross join lateral unnest(coalesce(
    (select record_ids from annals.append where project_id = $1 and id = segment.append_id),
    array[segment.append_id])) with ordinality as p (record_id, position)
  where segment.first_sequence_id + p.position - 1 between range.first and range.last
  order by sequence_id) as place
left join annals.audit_record r on r.project_id = $1 and r.id = place.record_id and place.sequence_id > $2
    -- filters; null is any
    and ($6::timestamptz is null or r."timestamp" >= $6)
    and ($7::timestamptz is null or r."timestamp" < $7)
    and ($8::text is null or r.action = $8)
    and ($9::text is null or r.actor_id = $9 or r.actor_name = $9)
    and ($10::text is null or r.subject_id = $10 or r.subject_name = $10)
    and ($11::text is null or r.outcome = $11)
    and ($12::text is null or host(r.ip_address) = $12)
    and ($14::text is null or coalesce('token:' || r.recorded_by_token, 'role:' || r.recorded_by_role) = $14)
    -- most messages fail the first test, which is much cheaper
    and ($13::text is null or case when lower(r.message) like all ((select parts from wanted)::text[])
      then annals.words(r.message) @> (select words from wanted) else false end)
where r.id is not null
  or place.sequence_id = (select lowest from looked_at)
  or place.sequence_id = (select highest from looked_at)
order by place.sequence_id
limit $5 + 3
