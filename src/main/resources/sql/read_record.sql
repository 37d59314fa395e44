-- One record by its id.
--
-- $1 project_id  uuid
-- $2 id          uuid
--
-- No row or one: sequence_id bigint, record_id uuid, and the columns of the record.
select
  annals.sequence_id(r.project_id, r.id, r.append_id) as sequence_id,
  r.id as record_id,
  r.id,
  r."timestamp",
  r.recorded_at,
  r.action,
  r.actor_type,
  r.actor_id,
  r.actor_name,
  r.subject_type,
  r.subject_id,
  r.subject_name,
  r.outcome,
  host(r.ip_address) as ip_address,
  r.message,
  r.metadata::text as metadata,
  r.number_sequence,
  r.number_value
from annals.audit_record r
where r.project_id = $1 and r.id = $2
