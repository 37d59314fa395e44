-- Reads records by their ids.
--
-- :project_id  uuid
-- :id          uuid[]
--
-- One row per record that exists: sequence_id bigint, record_id uuid, and all columns of the record.
select
  annals.sequence_id(r.project_id, r.id, r.placed_with) as sequence_id,
  r.id as record_id,
  /* include core/record/columns */,
  r.message,
  r.metadata::text as metadata
from annals.audit_record r
where annals.require_readable(:project_id) and r.project_id = :project_id and r.id = any (:id::uuid[])
