-- Leases feeds of streams that have records to deliver, are due, and have no lease. Feeds that another instance is leasing now are
-- skipped. Those of a stream of all projects may be in members. note_stream_deaths.sql ends expired leases before.
--
-- :instance      uuid
-- :lease_millis  bigint   the time until the lease expires
-- :only          uuid     only feeds of this stream; null for all
-- :full          uuid[]   projects with as many leases as they may have
-- :most          integer  the most feeds
--
-- Rows: as in find_stream_feeds.sql, with the epoch of the new lease.
with due as materialized (
  select p.stream_id, p.project_id
  from annals.stream_progress as p
  join annals.stream as s on s.id = p.stream_id
  join annals.project as feed on feed.id = p.project_id
    and (feed.placement = 'here' or s.all_projects and feed.placement in ('gone', 'arriving'))
  where s.paused_at is null and s.stopped_at is null and s.project_id <> all (:full::uuid[])
    and (:only::uuid is null or s.id = :only)
    and p.leased_until is null
    and p.retry_at <= clock_timestamp()
    and split_part(p.cursor, '-', 1)::bigint <> annals.followed_head(p)
  order by p.turn_at, p.stream_id, p.project_id
  limit :most
  for no key update of p skip locked
)
update annals.stream_progress as p
set epoch = p.epoch + 1, leased_by = :instance,
  leased_until = clock_timestamp() + :lease_millis * interval '1 millisecond', turn_at = clock_timestamp()
from due join annals.stream as s on s.id = due.stream_id
where p.stream_id = due.stream_id and p.project_id = due.project_id
returning s.id, s.project_id as owner_id, s.name, s.all_projects, s.archive, s.sink_type, s.url, s.only_public, s.link_id, s.link_issued_by,
  s.secret, s.format, s.filter::text as filter, s.on_refusal, s.max_refusals, s.created_at, s.paused_at, s.pause_reason, s.stopped_at, s.stop_reason,
  p.project_id, p.cursor, p.rewinds, p.archived_through, p.epoch, p.failures, p.refusals, nullif(p.retry_at, '-infinity') as retry_at, p.last_error,
  p.failed_at, p.delivered_at, p.delivered, p.dead_letters, true as leased, 0::bigint as lag
