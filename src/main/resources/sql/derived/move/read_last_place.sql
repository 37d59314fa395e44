-- The last place of a feed.
--
-- :project_id  uuid
--
-- One row: sequence_id bigint and mark integer, 0 without any.
select coalesce(max(s.last_sequence_id), 0) as sequence_id, coalesce(max(s.mark), 0) as mark
from (
  select last_sequence_id, mark from annals.feed_segment where project_id = :project_id
  order by first_sequence_id desc limit 1) as s
