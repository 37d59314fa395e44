-- Least privilege. Trigger functions run as their owner, so a writer needs no right on what they write.
revoke all on all functions in schema annals from public;
revoke all on all tables in schema annals from public;

grant usage on schema annals to annals_writer, annals_service;

grant insert on annals.audit_record to annals_writer;
-- The defaults of id and append_id are evaluated as the writer.
grant execute on function annals.sequential_guid(), annals.shared_append_id() to annals_writer;
grant usage on sequence annals.shared_append_number to annals_writer;

grant select on all tables in schema annals to annals_service;
grant insert on annals.audit_record, annals.append, annals.project, annals.access_token to annals_service;
grant execute on function annals.sequence_id(uuid, uuid, uuid) to annals_service;
