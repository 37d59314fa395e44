-- A lock per project, and a row of its own for each record's place: nothing is updated.
alter table audit_record drop column sequence_id;
create table feed_position (
  project_id uuid not null, sequence_id bigint not null, record_id uuid not null, primary key (project_id, sequence_id));
create function place_row() returns trigger language plpgsql as $$
declare
  head bigint;
begin
  perform pg_advisory_xact_lock(uuid_hash_extended(new.project_id, 3));
  select coalesce(max(sequence_id), 0) into head from feed_position where project_id = new.project_id;
  insert into feed_position (project_id, sequence_id, record_id) values (new.project_id, head + 1, new.id);
  return null;
end $$;
create constraint trigger place_row after insert on audit_record
  deferrable initially deferred for each row execute function place_row();
