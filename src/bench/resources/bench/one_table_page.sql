select
  sequence_id,
  id,
  "timestamp",
  recorded_at,
  action,
  actor_type,
  actor_id,
  actor_name,
  subject_type,
  subject_id,
  subject_name,
  outcome,
  inet_send(ip_address) as ip_address,
  message,
  metadata::text as metadata,
  number_sequence,
  number_value,
  recorded_by_token,
  recorded_by_role,
  redaction::text as redaction
from one_table.audit_record
where project_id = $1 and sequence_id > $2
order by sequence_id
limit $3
