-- Skips a record that the sink refuses for good, and adds it to the stream's dead letters.
--
-- :stream_id     uuid
-- :project_id    uuid     of the feed
-- :epoch         bigint   of the lease
-- :cursor        text     after the record
-- :sequence_id   bigint
-- :record_id     uuid
-- :reason        text
-- :lease_millis  bigint
--
-- One row: goes_on boolean, as in advance_stream.sql. None if the lease is lost; then nothing changes.
with passed as (
  update annals.stream_progress as p
  set cursor = :cursor, failures = 0, refusals = 0, dead_letters = p.dead_letters + 1, last_error = :reason,
    failed_at = clock_timestamp(), leased_until = clock_timestamp() + :lease_millis * interval '1 millisecond'
  where p.stream_id = :stream_id and p.project_id = :project_id and p.epoch = :epoch
  returning p.stream_id, p.project_id
), noted as (
  insert into annals.stream_dead_letter (stream_id, project_id, sequence_id, record_id, reason)
  select passed.stream_id, passed.project_id, :sequence_id, :record_id, :reason from passed
  on conflict do nothing
)
select s.paused_at is null and s.stopped_at is null as goes_on
from annals.stream as s join passed on passed.stream_id = s.id
