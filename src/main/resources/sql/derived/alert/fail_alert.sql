-- Stores the failure of an alert's step, and when to retry: the back-off doubles after each failure.
--
-- :id                uuid
-- :retry_millis      bigint  after the first failure
-- :max_retry_millis  bigint
-- :error             text
update annals.alert as a
set failures = a.failures + 1, last_error = :error, failed_at = clock_timestamp(), turn_at = clock_timestamp(),
  retry_at = clock_timestamp()
    + least(:max_retry_millis::bigint, :retry_millis::bigint << least(a.failures, 16)) * interval '1 millisecond'
where a.id = :id
