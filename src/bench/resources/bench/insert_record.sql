insert into audit_record (
  project_id, id, "timestamp", recorded_at, action,
  actor_type, actor_id, actor_name, subject_type, subject_id, subject_name,
  outcome, ip_address, message, metadata)
values ($1, $2, $3::timestamptz, statement_timestamp(), $4, $5, $6, $7, $8, $9, $10, $11, $12::text::inet, $13, $14::text::jsonb)
