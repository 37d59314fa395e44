-- Drops a series that is used up, and gives it free.
--
-- $1 sequence_id  uuid
-- $2 first_value  bigint   names the series
--
-- One row: boolean; none where it is gone.
with finished as (
  delete from annals.sequence_series where sequence_id = $1 and first_value = $2 and next_value > last_value
)
select pg_advisory_unlock(lock_key) from annals.sequence_series where sequence_id = $1 and first_value = $2
