-- The columns of a record r that RecordRow reads, for the statements that include them. Statements add message and metadata; some leave
-- large ones out.
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
r.number_sequence,
r.number_value,
r.recorded_by_token,
r.recorded_by_role,
r.redaction::text as redaction
