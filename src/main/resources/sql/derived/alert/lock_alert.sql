-- Locks an alert, unless another transaction holds it.
--
-- :id  uuid
--
-- No row (deleted, disabled, backing off, or locked) or one: columns of annals.alert, and head bigint, the last sequence id of the feed.
-- The COMMIT of this transaction does not wait for the disk unless it appends an event. Counts that a crash loses are counted again.
select a.project_id, a.name, a.q, a.threshold, a.interval_seconds, a.sequence_id, a.window_start, a.first_sequence_id, a.match_count,
  a.failures,
  coalesce(
    (select last_sequence_id from annals.feed_segment
     where project_id = a.project_id order by first_sequence_id desc limit 1), 0) as head,
  set_config('synchronous_commit', 'off', true) as synchronous_commit
from annals.alert as a
where a.id = :id and a.enabled and a.retry_at <= clock_timestamp()
for no key update of a skip locked
