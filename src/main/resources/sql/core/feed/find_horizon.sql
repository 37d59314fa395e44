-- The place up to which the records of a feed have expired.
--
-- :project_id  uuid
--
-- No row, where none have, or one: sequence_id bigint, record_id uuid and mark integer.
select horizon.sequence_id, segment.append_id as record_id, segment.mark
from annals.feed_horizon as horizon
join annals.feed_segment as segment
  on segment.project_id = horizon.project_id and segment.first_sequence_id = horizon.sequence_id
where horizon.project_id = :project_id
