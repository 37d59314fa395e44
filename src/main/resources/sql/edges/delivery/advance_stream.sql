-- Moves the cursor after the sink has acknowledged a batch, and renews the lease. A batch with records resets the count of deaths. Records of
-- a stream that is an archive count as archived if its store has all before them, too.
--
-- :stream_id     uuid
-- :project_id    uuid     of the feed
-- :epoch         bigint   of the lease
-- :before        bigint   the sequence id before the batch
-- :through       bigint   its last one
-- :cursor        text
-- :records       integer  how many were delivered
-- :lease_millis  bigint
--
-- One row: goes_on boolean, false if the stream was paused or stopped meanwhile. None if the lease is lost; then nothing changes.
with moved as (
  update annals.stream_progress as p
  set cursor = :cursor, failures = 0, refusals = 0, delivered = p.delivered + :records,
    archived_through = case
      when :records <> :through::bigint - :before::bigint or not (select s.archive from annals.stream as s where s.id = p.stream_id)
        then p.archived_through
      when :before::bigint > greatest(p.archived_through, annals.archived_through(p.project_id), annals.horizon(p.project_id))
        then p.archived_through
      else greatest(p.archived_through, :through::bigint) end,
    delivered_at = case when :records > 0 then clock_timestamp() else p.delivered_at end,
    leased_until = clock_timestamp() + :lease_millis * interval '1 millisecond'
  where p.stream_id = :stream_id and p.project_id = :project_id and p.epoch = :epoch
  returning p.stream_id
), survived as (
  delete from annals.stream_death as d using moved where d.stream_id = moved.stream_id and :records > 0
)
select s.paused_at is null and s.stopped_at is null as goes_on
from moved join annals.stream as s on s.id = moved.stream_id
