-- How streams are, for the metrics.
--
-- One row: active, failing, paused and stopped bigint, how many streams are so; lag bigint, how many records the one has still to pass
-- that is farthest behind, of those that are active or failing.
select
  count(*) filter (where s.paused_at is null and s.stopped_at is null and p.failures = 0) as active,
  count(*) filter (where s.paused_at is null and s.stopped_at is null and p.failures > 0) as failing,
  count(*) filter (where s.paused_at is not null and s.stopped_at is null) as paused,
  count(*) filter (where s.stopped_at is not null) as stopped,
  coalesce(max(
    coalesce(
      (select last_sequence_id from annals.feed_segment
       where project_id = s.project_id order by first_sequence_id desc limit 1), 0) - split_part(p.cursor, '-', 1)::bigint)
    filter (where s.paused_at is null and s.stopped_at is null), 0) as lag
from annals.stream as s
join annals.stream_progress as p on p.stream_id = s.id
