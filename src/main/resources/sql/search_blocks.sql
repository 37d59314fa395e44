-- The blocks of a part of a feed that can hold what filters ask for, in the feed's order or against it.
--
--  $1 project_id  uuid
--  $2 direction   integer       1: in the feed's order, -1: against it
--  $3 from        bigint        the sequence id to begin at; null: at the head
--  $4 blocks      integer       how many at most
--  $5 stretches   integer       of how many stretches of 1,048,576 places at most
--  $6 start       timestamptz   this and the following may be null: any; one of $8 to $14 is not
--  $7 end         timestamptz   exclusive
--  $8 action      text
--  $9 actor       text          id or name
-- $10 subject     text          id or name
-- $11 outcome     text
-- $12 ip_address  text
-- $13 q           text          words
-- $14 recorded_by text          token: and its id, or role: and its name
--
-- At least one row: head bigint (the feed's last sequence id, or 0), through bigint (up to there blocks are indexed, or
-- 0), then a block: block bigint (null: there is none), slices bigint (a bit for every 16 places, from the lowest on,
-- that can hold it; 0: none of them can).
with feed as materialized (
  select
    coalesce((select last_sequence_id from annals.feed_segment where project_id = $1 order by first_sequence_id desc limit 1), 0)
      as head,
    coalesce((select sequence_id from annals.projection_checkpoint where project_id = $1 and projection = 'search'), 0)
      as through
), part as materialized (
  select feed.*, (least(coalesce($3::bigint, head), case when $2::integer > 0 then 9223372036854775807 else through end) - 1) / 1024
    as first_block
  from feed
), wanted as materialized (
  select
    array(
      select distinct annals.search_key($1, field, value)
      from unnest(array[1, 2, 3, 4, 5, 8], array[$8::text, $9::text, $10::text, $11::text, $12::text, $14::text]) as v (field, value)
      where value is not null) as fields,
    array(select distinct annals.search_key($1, 6, word) from unnest(annals.words($13::text)) as word) as words,
    annals.search_key($1, 7, '') as any_word
)
select part.head, part.through, found.block, found.slices
from part
cross join wanted
left join lateral (
  select candidate.block,
    -- the slices that have all of it
    (select bit_and(case when candidate.keys[at.place] = key then candidate.slices[at.place] else 0 end)
      from unnest(wanted.fields || wanted.words) as k (k)
      cross join lateral (select candidate.stretch | k) as s (key)
      cross join lateral (select width_bucket(s.key, candidate.keys)) as at (place))
    | case when $13::text is null then 0 else
      (select bit_and(case when candidate.keys[at.place] = key then candidate.slices[at.place] else 0 end)
        from unnest(wanted.fields || wanted.any_word) as k (k)
        cross join lateral (select candidate.stretch | k) as s (key)
        cross join lateral (select width_bucket(s.key, candidate.keys)) as at (place))
      end as slices
  from (
    select found.block, stretch.prefix as stretch,
      -- read once, not once a key
      found.keys || '{}'::bigint[] as keys, found.slices || '{}'::bigint[] as slices
    from generate_series(0, least(
        $5::integer - 1,
        abs((case when $2::integer > 0 then (part.through - 1) / 1024 else 0 end >> 10) - (part.first_block >> 10)))) as step
    cross join lateral (
      select annals.search_stretch((part.first_block >> 10) + step * $2::integer << 10) as prefix,
        (part.first_block >> 10) + step * $2::integer as number) as stretch
    cross join lateral (
      select b.*
      from (
        select project_id, block, first_timestamp, last_timestamp, keys, slices
        from annals.search_block
        where keys @> array(select stretch.prefix | k from unnest(wanted.fields || wanted.words) as k)
          -- without q there is nothing more to find: no block has the key -1
          or keys @> array(select stretch.prefix | k from unnest(
            case when $13::text is null then array[-1::bigint] else wanted.fields || wanted.any_word end) as k)
        offset 0) as b
      where b.project_id = $1
        and b.block >> 10 = stretch.number
        and b.block * $2::integer >= part.first_block * $2::integer
        and ($6::timestamptz is null or b.last_timestamp >= $6::timestamptz)
        and ($7::timestamptz is null or b.first_timestamp < $7::timestamptz)
      order by b.block * $2::integer
      limit $4::integer) as found
    where part.first_block * 1024 < part.through
    limit $4::integer) as candidate) as found on true
