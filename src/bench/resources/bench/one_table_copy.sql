-- The same records with their sequence id as a column, in the order in which they were written.
insert into one_table.audit_record (
  project_id, sequence_id, id, "timestamp", recorded_at, action,
  actor_type, actor_id, actor_name, subject_type, subject_id, subject_name,
  outcome, ip_address, message, metadata, number_sequence, number_value)
select
  project_id, sequence_id, id, "timestamp", recorded_at, action,
  actor_type, actor_id, actor_name, subject_type, subject_id, subject_name,
  outcome, ip_address, message, metadata, number_sequence, number_value
from annals.feed
where project_id in (:projects)
order by id
