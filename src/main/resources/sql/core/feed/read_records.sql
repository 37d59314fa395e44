-- Records by their ids.
--
-- :project_id  uuid
-- :id          uuid[]
--
-- One row per record that is there: sequence_id bigint, record_id uuid, and the columns of the record, nothing left out.
select
  annals.sequence_id(r.project_id, r.id, r.placed_with) as sequence_id,
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
  inet_send(r.ip_address) as ip_address,
  r.message,
  r.metadata::text as metadata,
  r.number_sequence,
  r.number_value,
  r.recorded_by_token,
  r.recorded_by_role,
  r.redaction::text as redaction
from annals.audit_record r
where r.project_id = :project_id and r.id = any (:id::uuid[])
