-- Takes an alert for this transaction, unless another one holds it.
--
-- :id  uuid
--
-- No row (it is gone, does not count, or another instance holds it) or one: what it is and how far it has counted, as in annals.alert;
-- head bigint, the last sequence id of the feed; and a setting for this transaction: its COMMIT does not wait for the disk unless it
-- appends an event. What a crash loses is counted again.
select a.project_id, a.name, a.q, a.threshold, a.interval_seconds, a.sequence_id, a.window_start, a.first_sequence_id, a.match_count,
  a.failures,
  coalesce(
    (select last_sequence_id from annals.feed_segment
     where project_id = a.project_id order by first_sequence_id desc limit 1), 0) as head,
  set_config('synchronous_commit', 'off', true) as synchronous_commit
from annals.alert as a
where a.id = :id and a.enabled and a.retry_at <= clock_timestamp()
for no key update of a skip locked
