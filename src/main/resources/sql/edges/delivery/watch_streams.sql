-- The states of streams, for the metrics.
--
-- One row: active, failing, paused and stopped bigint, the number of streams in each state; lag bigint, the most records after the cursor
-- of any feed of an active or failing stream.
select
  count(*) filter (where s.paused_at is null and s.stopped_at is null and feeds.failures = 0) as active,
  count(*) filter (where s.paused_at is null and s.stopped_at is null and feeds.failures > 0) as failing,
  count(*) filter (where s.paused_at is not null and s.stopped_at is null) as paused,
  count(*) filter (where s.stopped_at is not null) as stopped,
  coalesce(max(feeds.lag) filter (where s.paused_at is null and s.stopped_at is null), 0) as lag
from annals.stream as s
cross join lateral (
  select max(p.failures) as failures,
    max(annals.followed_head(p) - split_part(p.cursor, '-', 1)::bigint) as lag
  from annals.stream_progress as p
  where p.stream_id = s.id) as feeds
