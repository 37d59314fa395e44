-- The bounds of an export.
--
-- :project_id  uuid
--
-- One row, or none if the project does not exist: name text, and the feed's head: last_sequence_id bigint, record_id uuid, mark integer,
-- all null while the feed is empty.
select p.name, head.last_sequence_id,
  coalesce(
    (select record_id from annals.feed_horizon where project_id = :project_id and sequence_id = head.last_sequence_id),
    (select record_id from annals.places(:project_id, head.last_sequence_id, head.last_sequence_id))) as record_id,
  head.mark
from annals.project p
left join lateral (
  select last_sequence_id, mark
  from annals.feed_segment
  where project_id = :project_id
  order by first_sequence_id desc
  limit 1
) head on true
where annals.require_readable(:project_id) and p.id = :project_id
