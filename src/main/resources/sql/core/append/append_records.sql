-- Appends a batch of records to one project or to several. Sent alone, it is its own transaction: COMMIT, and with it the
-- placing of the batch in its feeds, is part of it.
--
-- :unplaced_projects  text            the projects, separated by commas, if there are several: place_segment() locks them
--                                     together; otherwise empty
-- :project_id         uuid[]
-- :id                 uuid[]          the records, in their order
-- :placed_with        uuid[]          of each record: its own id, where its append is only this record
-- :timestamp          timestamptz[]
-- :action             text[]
-- :actor_type         text[]          this and the following: elements may be null
-- :actor_id           text[]
-- :actor_name         text[]
-- :subject_type       text[]
-- :subject_id         text[]
-- :subject_name       text[]
-- :outcome            text[]
-- :ip_address         text[]
-- :message            text[]
-- :metadata           text[]          JSON objects
-- :append_id          uuid[]          the appends of more than one record
-- :append_project     uuid[]          the project of each
-- :append_first       integer[]       where each begins in :id, from 1
-- :append_last        integer[]       where each ends in :id
-- :recorded_by_token  uuid[]          the token that each record came with
--
-- One row: recorded_at timestamptz, the same for all records of the batch.
with setting as materialized (
  select set_config('annals.unplaced_projects', :unplaced_projects, true)
), new_record as (
  insert into annals.audit_record (
    project_id, id, placed_with, "timestamp", recorded_at, action,
    actor_type, actor_id, actor_name, subject_type, subject_id, subject_name,
    outcome, ip_address, message, metadata, recorded_by_token, recorded_by_role)
  select
    project_id, id, placed_with, "timestamp", statement_timestamp(), action,
    actor_type, actor_id, actor_name, subject_type, subject_id, subject_name,
    outcome, ip_address::inet, message, metadata::jsonb, recorded_by_token, null
  from (
    -- not in FROM, where PostgreSQL would put each array into a store of its own first: a tenth of the statement's time
    select
      unnest(:project_id::uuid[]) as project_id,
      unnest(:id::uuid[]) as id,
      unnest(:placed_with::uuid[]) as placed_with,
      unnest(:timestamp::timestamptz[]) as "timestamp",
      unnest(:action::text[]) as action,
      unnest(:actor_type::text[]) as actor_type,
      unnest(:actor_id::text[]) as actor_id,
      unnest(:actor_name::text[]) as actor_name,
      unnest(:subject_type::text[]) as subject_type,
      unnest(:subject_id::text[]) as subject_id,
      unnest(:subject_name::text[]) as subject_name,
      unnest(:outcome::text[]) as outcome,
      unnest(:ip_address::text[]) as ip_address,
      unnest(:message::text[]) as message,
      unnest(:metadata::text[]) as metadata,
      unnest(:recorded_by_token::uuid[]) as recorded_by_token) as r
), new_append as (
  insert into annals.append (project_id, id, record_ids)
  select project_id, id, (:id::uuid[])[first : last]
  from unnest(:append_id::uuid[], :append_project::uuid[], :append_first::integer[], :append_last::integer[])
    as a (id, project_id, first, last)
)
select statement_timestamp() as recorded_at
from setting
