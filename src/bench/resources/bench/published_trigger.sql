-- The cure as it is published: at commit each row takes the one lock of the whole log and is numbered by an UPDATE.
create sequence log_number;
create function number_row() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock(1);
  update audit_record set sequence_id = nextval('log_number') where project_id = new.project_id and id = new.id;
  return null;
end $$;
create constraint trigger number_row after insert on audit_record
  deferrable initially deferred for each row execute function number_row();
