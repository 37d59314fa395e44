-- Deletes a series that is used up, and releases its lock.
--
-- :sequence_id  uuid
-- :first_value  bigint   names the series
--
-- One row: released boolean; no row if the series is gone.
with finished as (
  delete from annals.sequence_series
  where sequence_id = :sequence_id and first_value = :first_value and next_value > last_value
)
select pg_advisory_unlock(lock_key) as released from annals.sequence_series
where sequence_id = :sequence_id and first_value = :first_value
