-- The published trigger with a lock per project.
create function number_row() returns trigger language plpgsql as $$
declare
  head bigint;
begin
  perform pg_advisory_xact_lock(uuid_hash_extended(new.project_id, 2));
  select coalesce(max(sequence_id), 0) into head from audit_record where project_id = new.project_id;
  update audit_record set sequence_id = head + 1 where project_id = new.project_id and id = new.id;
  return null;
end $$;
create constraint trigger number_row after insert on audit_record
  deferrable initially deferred for each row execute function number_row();
