-- What an export needs to know of a project before it begins.
--
-- $1 project_id  uuid
--
-- One row, or none where there is no such project: name text, and the feed's head: last_sequence_id bigint, record_id
-- uuid, both null while the feed is empty.
select p.name, head.last_sequence_id,
  coalesce(
    (select a.record_ids[head.last_sequence_id - head.first_sequence_id + 1]
     from annals.append a where a.project_id = $1 and a.id = head.append_id),
    head.append_id) as record_id
from annals.project p
left join lateral (
  select append_id, first_sequence_id, last_sequence_id
  from annals.feed_segment
  where project_id = $1
  order by first_sequence_id desc
  limit 1
) head on true
where p.id = $1
