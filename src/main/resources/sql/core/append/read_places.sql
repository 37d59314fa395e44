-- Reads the places of committed appends.
--
-- :project_id  uuid[]   of each append
-- :append_id   uuid[]
--
-- One row per append: project_id uuid, append_id uuid, first_sequence_id bigint.
select segment.project_id, segment.append_id, segment.first_sequence_id
from unnest(:project_id::uuid[], :append_id::uuid[]) as placed (project_id, append_id)
join annals.feed_segment as segment on segment.project_id = placed.project_id and segment.append_id = placed.append_id
