-- Looks for what would silently break the guarantees of feeds.
--
-- :projects  integer   how many projects to look at, at most
-- :records   integer   how many of their newest records, at most
--
-- One row: max_prepared_transactions integer, unplaced_records bigint, unplaced_project uuid (one that has some, or null).
select
  current_setting('max_prepared_transactions')::integer as max_prepared_transactions,
  count(*) as unplaced_records,
  min(record.project_id::text)::uuid as unplaced_project
from (select id from annals.project order by id desc limit :projects) as project
cross join lateral (
  select project_id, id, placed_with from annals.audit_record
  where project_id = project.id order by id desc limit :records) as record
where annals.sequence_id(record.project_id, record.id, record.placed_with) is null
