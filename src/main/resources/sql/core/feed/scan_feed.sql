-- Scans ranges of a feed, in its order or against it, for records that pass the filters.
--
-- :project_id   uuid
-- :direction    integer       1: oldest first, -1: newest first
-- :sequence_id  bigint        the records are behind it in that direction; null: no bound
-- :first        bigint[]      the lowest sequence id of each range; null: :limit places before the head
-- :last         bigint[]      the highest sequence id of each range; null: the head. One range contains :sequence_id
-- :limit        integer       the largest number of records
-- and the binds of passes.sql.
--
-- Rows in that direction: sequence_id bigint; record_id uuid; mark integer; horizon bigint, the sequence id up to which records
-- have expired, or -1 if this database does not have the project; and the columns of the record. The lowest and the highest place scanned always have a row, because cursors are
-- made from them; the columns of the record are null if it does not pass. Rows behind the first :limit + 1 records may be
-- missing. A large message and large metadata are left out as in read_feed.sql.
with head as materialized (
  select coalesce(
    (select last_sequence_id from annals.feed_segment
     where project_id = :project_id order by first_sequence_id desc limit 1), 0)
    as sequence_id,
    coalesce(horizon.sequence_id, 0) as horizon,
    horizon.record_id as horizon_record_id,
    exists (select from annals.project where id = :project_id and placement in ('here', 'sealed')) as here
  from (select) as feed
  left join annals.feed_horizon as horizon on horizon.project_id = :project_id
), range as materialized (
  -- expired records leave one place, at the horizon
  select greatest(coalesce(range.first, head.sequence_id - :limit::integer), head.horizon, 1) as first,
    greatest(least(range.last, head.sequence_id), head.horizon) as last
  from unnest(:first::bigint[], :last::bigint[]) as range (first, last)
  cross join head
), looked_at as materialized (
  select min(first) as lowest, max(last) as highest from range
)
select
  place.sequence_id,
  coalesce((select horizon_record_id from head where horizon = place.sequence_id), place.record_id) as record_id,
  place.mark,
  (select case when here then horizon else -1 end from head) as horizon,
  /* include core/record/columns */,
  case when octet_length(r.message) <= 2048 then r.message end as message,
  case when octet_length(r.message) > 2048 or pg_column_size(r.metadata) > 2048 then '' else r.metadata::text end as metadata
from (
  -- ordered here, so that records behind the limit are never fetched
  select p.sequence_id, p.record_id, p.mark, p.sequence_id * :direction::integer as turn
  from range
  cross join lateral annals.places(:project_id, range.first, range.last) as p
  order by turn) as place
-- a lateral subquery, so that a bad estimate by the planner cannot make it read all records of the project
left join lateral (
  select * from annals.audit_record as r
  where r.project_id = :project_id and r.id = place.record_id
    and place.turn > coalesce(:sequence_id::bigint * :direction::integer, -9223372036854775807)
    and /* include core/query/passes */
  offset 0) as r on true
where r.id is not null
  or place.sequence_id = (select lowest from looked_at)
  or place.sequence_id = (select highest from looked_at)
order by place.turn
limit :limit + 3
