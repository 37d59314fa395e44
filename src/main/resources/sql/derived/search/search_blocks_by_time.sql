-- Like search_blocks.sql, for filters on the timestamp alone.
--
-- :project_id  uuid
-- :direction   integer       1: in the feed's order, -1: against it
-- :from        bigint        the sequence id to begin at; null: at the head
-- :blocks      integer       how many at most
-- :stretches   integer       of how many stretches of 1,048,576 places at most
-- :start       timestamptz   may be null: any
-- :end         timestamptz   exclusive; may be null: any
--
-- Rows as in search_blocks.sql; slices has all bits set, and places is null.
with feed as materialized (
  select
    coalesce(
      (select last_sequence_id from annals.feed_segment
       where project_id = :project_id order by first_sequence_id desc limit 1), 0) as head,
    -- An index that was made in another way has other keys: it is not used.
    coalesce(
      (select sequence_id from annals.projection_checkpoint
       where project_id = :project_id and projection = 'search' and mark = annals.search_mark()), 0) as through
), part as materialized (
  select feed.*,
    (least(
      coalesce(:from::bigint, head),
      case when :direction::integer > 0 then 9223372036854775807 else through end) - 1) / 1024 as first_block
  from feed
)
select part.head, part.through, found.block, -1::bigint as slices, null::integer[] as places
from part
left join lateral (
  select found.block
  from generate_series(0, least(
      :stretches::integer - 1,
      abs((case when :direction::integer > 0 then (part.through - 1) / 1024 else 0 end >> 10)
        - (part.first_block >> 10)))) as step
  cross join lateral (select (part.first_block >> 10) + step * :direction::integer as number) as stretch
  cross join lateral (
    select b.block
    from annals.search_block as b
    where b.project_id = :project_id
      and b.block between stretch.number << 10 and (stretch.number << 10) + 1023
      and b.block * :direction::integer >= part.first_block * :direction::integer
      and (:start::timestamptz is null or b.last_timestamp >= :start::timestamptz)
      and (:end::timestamptz is null or b.first_timestamp < :end::timestamptz)
    order by b.block * :direction::integer
    limit :blocks::integer) as found
  where part.first_block * 1024 < part.through
  limit :blocks::integer) as found on true
