-- The columns of a record that its client gives, but for ip_address and metadata, which need casts, for the statements that include them.
"timestamp", action,
actor_type, actor_id, actor_name, subject_type, subject_id, subject_name,
outcome, message
