-- Reads the heads of feeds, with one index probe each.
--
-- :project_ids  uuid[]
--
-- Rows in any order: project_id uuid; head bigint, the sequence id of the newest record, 0 if the feed is empty; here boolean, whether
-- this database has the project.
select
  p.project_id,
  coalesce(
    (select last_sequence_id from annals.feed_segment
     where project_id = p.project_id order by first_sequence_id desc limit 1), 0) as head,
  exists (select from annals.project where id = p.project_id and placement in ('here', 'sealed')) as here
from unnest(:project_ids::uuid[]) as p (project_id)
