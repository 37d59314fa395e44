-- As search_blocks.sql, for filters on the timestamp alone.
--
-- :blocks      integer       the most blocks
-- :stretches   integer       the most stretches of 1,048,576 places
-- :start       timestamptz   null: any
-- :end         timestamptz   exclusive; null: any
-- and the binds of indexed_part.sql.
--
-- Rows as in search_blocks.sql; slices has all bits set, and places is null.
with /* include derived/search/indexed_part */
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
