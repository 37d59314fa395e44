-- How many records there are, by the heads of all feeds.
select sum(head.last_sequence_id)::bigint
from annals.project
cross join lateral (
  select last_sequence_id from annals.feed_segment
  where project_id = project.id order by first_sequence_id desc limit 1) as head
