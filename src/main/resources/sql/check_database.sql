-- Looks for what would break the feeds' guarantees without anybody noticing.
--
-- $1 projects  integer   how many projects to look at, at most
-- $2 records   integer   how many of their newest records, at most
--
-- One row: max_prepared_transactions integer, unplaced_records bigint, unplaced_project uuid (one that has some, or null).
select
  current_setting('max_prepared_transactions')::integer as max_prepared_transactions,
  count(*) as unplaced_records,
  min(record.project_id::text)::uuid as unplaced_project
from (select id from annals.project order by id desc limit $1) as project
cross join lateral (
  select project_id, id, placed_with from annals.audit_record
  where project_id = project.id order by id desc limit $2) as record
where annals.sequence_id(record.project_id, record.id, record.placed_with) is null
