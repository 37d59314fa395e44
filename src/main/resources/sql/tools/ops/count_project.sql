-- The numbers of a project's records, of redacted values in them, and of places of its feed.
--
-- :project_id  uuid
--
-- One row: records bigint, redacted bigint, places bigint, name text (null if the project itself is missing), elsewhere boolean (it is in
-- another database).
with project as materialized (select :project_id::uuid as id)
select
  (select count(*) from annals.audit_record where project_id = project.id) as records,
  (select coalesce(sum((select count(*) from jsonb_object_keys(
     case when jsonb_typeof(redaction -> 'redacted') = 'object' then redaction -> 'redacted' end))), 0)::bigint
   from annals.audit_record where project_id = project.id and redaction is not null) as redacted,
  (select coalesce(sum(last_sequence_id - first_sequence_id + 1), 0)::bigint
   from annals.feed_segment
   where project_id = project.id and last_sequence_id > annals.horizon(project.id)) as places,
  (select name from annals.project as known where known.id = project.id) as name,
  exists (select from annals.project as known where known.id = project.id and placement = 'gone') as elsewhere
from project
