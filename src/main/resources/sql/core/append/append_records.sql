-- Appends a batch of records to one project or to several. Sent alone, it is its own transaction: COMMIT, and with it the
-- placing of the batch in its feeds, is part of it.
--
-- :unplaced_projects  text            the projects, separated by commas, if there are several: place_segment() locks them
--                                     together; otherwise empty
-- :project_id         uuid[]
-- :append_id          uuid[]          the appends of more than one record
-- :append_project     uuid[]          the project of each
-- :append_first       integer[]       the index in :id of the first record of each, from 1
-- :append_last        integer[]       the index of its last record
-- and those of new_records.sql.
--
-- One row: recorded_at timestamptz, the same for all records of the batch.
with setting as materialized (
  select set_config('annals.unplaced_projects', :unplaced_projects, true)
), new_record as (
  insert into annals.audit_record (
    project_id, id, placed_with, recorded_at, recorded_by_token, recorded_by_role, ip_address, metadata,
    /* include core/append/names */)
  select
    project_id, id, placed_with, statement_timestamp(), recorded_by_token, null, ip_address::inet, metadata::jsonb,
    /* include core/append/names */
  from (
    select unnest(:project_id::uuid[]) as project_id, /* include core/append/new_records */) as r
), new_append as (
  insert into annals.append (project_id, id, record_ids)
  select project_id, id, (:id::uuid[])[first : last]
  from unnest(:append_id::uuid[], :append_project::uuid[], :append_first::integer[], :append_last::integer[])
    as a (id, project_id, first, last)
)
select statement_timestamp() as recorded_at
from setting
