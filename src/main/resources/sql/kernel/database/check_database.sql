-- Finds conditions that silently break the guarantees of feeds.
--
-- :projects  integer   the most projects to check
-- :records   integer   the most newest records of each
--
-- One row: max_prepared_transactions integer, unplaced_records bigint, unplaced_project uuid (one that has some, or null),
-- made_otherwise boolean (the search index of a project was made by other rules than this server's).
select
  current_setting('max_prepared_transactions')::integer as max_prepared_transactions,
  count(*) as unplaced_records,
  min(record.project_id::text)::uuid as unplaced_project,
  exists (
    select from (select id from annals.project order by id desc limit :projects) as project
    join annals.projection_checkpoint as checkpoint on checkpoint.project_id = project.id
    where checkpoint.projection = 'search' and checkpoint.sequence_id > 0 and checkpoint.mark is distinct from annals.search_mark())
    as made_otherwise
from (select id from annals.project order by id desc limit :projects) as project
cross join lateral (
  select project_id, id, placed_with from annals.audit_record
  where project_id = project.id order by id desc limit :records) as record
where annals.sequence_id(record.project_id, record.id, record.placed_with) is null
