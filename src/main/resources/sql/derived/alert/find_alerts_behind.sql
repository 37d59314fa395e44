-- Alerts that have records to look at, and whose turn it is. A closed project has none any more.
--
-- :most  integer  how many at most
--
-- Rows, that which waits longest first: id uuid.
select a.id
from annals.alert as a
join annals.project as p on p.id = a.project_id
where a.enabled and p.closed_at is null and a.retry_at <= clock_timestamp()
  and a.sequence_id < coalesce(
    (select last_sequence_id from annals.feed_segment
     where project_id = a.project_id order by first_sequence_id desc limit 1), 0)
order by a.turn_at, a.id
limit :most
