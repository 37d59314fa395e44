-- Counts alerts by state, for metrics.
--
-- One row: active, failing and disabled bigint (closed projects' alerts are disabled); lag bigint, the most records that an alert has still
-- to count.
select
  count(*) filter (where counts and failures = 0) as active,
  count(*) filter (where counts and failures > 0) as failing,
  count(*) filter (where not counts) as disabled,
  coalesce(max(head - sequence_id) filter (where counts), 0) as lag
from (
  select a.enabled and p.closed_at is null as counts, a.failures, a.sequence_id,
    coalesce(
      (select last_sequence_id from annals.feed_segment
       where project_id = a.project_id order by first_sequence_id desc limit 1), 0) as head
  from annals.alert as a
  join annals.project as p on p.id = a.project_id) as alert
