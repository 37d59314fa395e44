-- As search_blocks.sql, for filters on the timestamp alone.
--
--  $1 project_id  uuid
--  $2 direction   integer       1: in the feed's order, -1: against it
--  $3 from        bigint        the sequence id to begin at; null: at the head
--  $4 blocks      integer       how many at most
--  $5 stretches   integer       of how many stretches of 1,048,576 places at most
--  $6 start       timestamptz   may be null: any
--  $7 end         timestamptz   exclusive; may be null: any
--
-- Rows as of search_blocks.sql; slices has all bits.
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
)
select part.head, part.through, found.block, -1::bigint as slices
from part
left join lateral (
  select found.block
  from generate_series(0, least(
      $5::integer - 1,
      abs((case when $2::integer > 0 then (part.through - 1) / 1024 else 0 end >> 10) - (part.first_block >> 10)))) as step
  cross join lateral (select (part.first_block >> 10) + step * $2::integer as number) as stretch
  cross join lateral (
    select b.block
    from annals.search_block as b
    where b.project_id = $1
      and b.block between stretch.number << 10 and (stretch.number << 10) + 1023
      and b.block * $2::integer >= part.first_block * $2::integer
      and ($6::timestamptz is null or b.last_timestamp >= $6::timestamptz)
      and ($7::timestamptz is null or b.first_timestamp < $7::timestamptz)
    order by b.block * $2::integer
    limit $4::integer) as found
  where part.first_block * 1024 < part.through
  limit $4::integer) as found on true
