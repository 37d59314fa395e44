-- How many records a project has, and how many places its feed.
--
-- :project_id  uuid
--
-- One row: records bigint, places bigint, name text (null if the project itself is missing).
with project as materialized (select :project_id::uuid as id)
select
  (select count(*) from annals.audit_record where project_id = project.id) as records,
  (select coalesce(sum(last_sequence_id - first_sequence_id + 1), 0)::bigint
   from annals.feed_segment
   where project_id = project.id and last_sequence_id > annals.horizon(project.id)) as places,
  (select name from annals.project as known where known.id = project.id) as name
from project
