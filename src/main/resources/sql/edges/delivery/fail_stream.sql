-- Returns the lease after a failed delivery, and sets the time of the next try.
--
-- :stream_id     uuid
-- :project_id    uuid     of the feed
-- :epoch         bigint   of the lease
-- :refused       boolean  whether the sink refused the records
-- :pause_millis  bigint
-- :error         text
--
-- One row: stream_id uuid. None if the lease is lost; then nothing changes.
update annals.stream_progress as p
set failures = p.failures + 1, refusals = p.refusals + case when :refused then 1 else 0 end,
  retry_at = clock_timestamp() + :pause_millis * interval '1 millisecond', last_error = :error, failed_at = clock_timestamp(),
  leased_by = null, leased_until = null
where p.stream_id = :stream_id and p.project_id = :project_id and p.epoch = :epoch
returning p.stream_id
