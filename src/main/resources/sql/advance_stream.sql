-- The sink has acknowledged everything up to a cursor. The lease is renewed.
--
-- :stream_id     uuid
-- :project_id    uuid     whose feed
-- :epoch         bigint   of the lease
-- :cursor        text
-- :records       integer  how many were delivered
-- :lease_millis  bigint
--
-- One row: goes_on boolean, whether the stream was neither paused nor stopped meanwhile. None if the lease is lost: then nothing
-- changes.
update annals.stream_progress as p
set cursor = :cursor, failures = 0, refusals = 0, delivered = p.delivered + :records,
  delivered_at = case when :records > 0 then clock_timestamp() else p.delivered_at end,
  leased_until = clock_timestamp() + :lease_millis * interval '1 millisecond'
where p.stream_id = :stream_id and p.project_id = :project_id and p.epoch = :epoch
returning (
  select s.paused_at is null and s.stopped_at is null from annals.stream as s where s.id = p.stream_id) as goes_on
