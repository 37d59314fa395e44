-- Finds the last place of a feed whose record has expired.
--
-- :project_id  uuid
--
-- One row: sequence_id bigint, record_id uuid, mark integer. No row if no record has expired.
select horizon.sequence_id, horizon.record_id, segment.mark
from annals.feed_horizon as horizon
join annals.feed_segment as segment
  on segment.project_id = horizon.project_id and segment.first_sequence_id = horizon.sequence_id
where annals.require_readable(:project_id) and horizon.project_id = :project_id
