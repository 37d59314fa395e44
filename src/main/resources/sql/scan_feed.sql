-- Looks at ranges of a feed, in its order or against it, for records that pass the filters.
--
--  $1 project_id   uuid
--  $2 direction    integer       1: oldest first, -1: newest first
--  $3 sequence_id  bigint        the records are behind it in that direction; null: no bound
--  $4 first        bigint[]      the ranges, each from its lowest sequence id; null: as many places before the head as $6 says
--  $5 last         bigint[]      to its highest one; null: the head. The place at $3 belongs to them
--  $6 limit        integer       how many records at most
--  $7 start        timestamptz   this and the following may be null: any
--  $8 end          timestamptz   exclusive
--  $9 action       text
-- $10 actor        text          id or name
-- $11 subject      text          id or name
-- $12 outcome      text
-- $13 ip_address   text
-- $14 q            text          words
-- $15 recorded_by  text          token: and its id, or role: and its name
--
-- Rows in the direction asked for: sequence_id bigint, record_id uuid, and the columns of the record, which are null for two
-- rows that stand there for cursors: the lowest and the highest place looked at, where they do not pass. Rows behind the
-- first $6 + 1 records may be missing. A large message and large metadata are left out, as in read_feed.sql.
with head as materialized (
  select coalesce(
    (select last_sequence_id from annals.feed_segment where project_id = $1 order by first_sequence_id desc limit 1), 0)
    as sequence_id
), range as materialized (
  select coalesce(range.first, greatest(head.sequence_id - $6::integer, 1)) as first, least(range.last, head.sequence_id) as last
  from unnest($4::bigint[], $5::bigint[]) as range (first, last)
  cross join head
), looked_at as materialized (
  select min(first) as lowest, max(last) as highest from range
), wanted as materialized (
  select annals.words($14::text) as words, array(select '%' || word || '%' from unnest(annals.words($14::text)) as word) as parts
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
  select p.sequence_id, p.record_id, p.sequence_id * $2::integer as turn
  from range
  cross join lateral annals.places($1, range.first, range.last) as p
  order by turn) as place
-- a lateral subquery, so that a bad guess of the planner's cannot read all records of the project instead
left join lateral (
  select * from annals.audit_record as r
  where r.project_id = $1 and r.id = place.record_id
    and place.turn > coalesce($3::bigint * $2::integer, -9223372036854775807)
    -- filters; null is any
    and ($7::timestamptz is null or r."timestamp" >= $7)
    and ($8::timestamptz is null or r."timestamp" < $8)
    and ($9::text is null or r.action = $9)
    and ($10::text is null or r.actor_id = $10 or r.actor_name = $10)
    and ($11::text is null or r.subject_id = $11 or r.subject_name = $11)
    and ($12::text is null or r.outcome = $12)
    and ($13::text is null or host(r.ip_address) = $13)
    and ($15::text is null or coalesce('token:' || r.recorded_by_token, 'role:' || r.recorded_by_role) = $15)
    -- most messages fail the first test, which is much cheaper
    and ($14::text is null or case when lower(r.message) like all ((select parts from wanted)::text[])
      then annals.words(r.message) @> (select words from wanted) else false end)
  offset 0) as r on true
where r.id is not null
  or place.sequence_id = (select lowest from looked_at)
  or place.sequence_id = (select highest from looked_at)
order by place.turn
limit $6 + 3
