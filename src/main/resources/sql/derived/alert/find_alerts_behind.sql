-- Finds alerts that have records to count and are not backing off, the longest waiting first. Those of closed projects count nothing, nor
-- do those of projects that are elsewhere.
--
-- :most  integer
--
-- At least one row: id uuid, null if there is none; exist boolean, whether the database has any alert.
select behind.id, exists (select from annals.alert) as exist
from (select) as once
left join (
  select a.id
  from annals.alert as a
  join annals.project as p on p.id = a.project_id
  where a.enabled and p.closed_at is null and p.placement = 'here' and a.retry_at <= clock_timestamp()
    and a.sequence_id < coalesce(
      (select last_sequence_id from annals.feed_segment
       where project_id = a.project_id order by first_sequence_id desc limit 1), 0)
  order by a.turn_at, a.id
  limit :most) as behind on true
