insert into audit_record (
  project_id, id, "timestamp", recorded_at, action,
  actor_type, actor_id, actor_name, subject_type, subject_id, subject_name,
  outcome, ip_address, message, metadata)
select
  $1, id, "timestamp", statement_timestamp(), action,
  actor_type, actor_id, actor_name, subject_type, subject_id, subject_name,
  outcome, ip_address::inet, message, metadata::jsonb
from unnest(
  $2::uuid[], $3::timestamptz[], $4::text[],
  $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[],
  $11::text[], $12::text[], $13::text[], $14::text[])
  as r (id, "timestamp", action,
    actor_type, actor_id, actor_name, subject_type, subject_id, subject_name,
    outcome, ip_address, message, metadata)
