-- Numbers with records. A record that names a sequence of kind SYNCHRONOUS gets its next value in the statement that
-- inserts it: both are committed, or neither is. So the records of a sequence count 1, 2, 3 … without a gap, whatever
-- fails, and in the order of the feed, since the sequence's row stays locked until the transaction ends.
--
--   insert into annals.audit_record (project_id, action, message, number_sequence) values (…, 'invoice');
--
-- The service draws the values of a whole batch at once (sql/append_numbered_records.sql). Whoever names a sequence and
-- brings no value has one drawn by number_record().

alter table annals.audit_record
  -- No foreign key: it would lock the sequence's row once more. A sequence's row is never removed, nor its name changed.
  add column number_sequence varchar(128),
  add column number_value bigint;

-- Draws the value of a record that comes without one. A value without a sequence is refused; so in every record both are
-- there, or neither. (A check constraint that says so would be parsed for every statement beside this trigger's WHEN.)
create function annals.number_record() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  drawn text := current_setting('annals.numbers_drawn', true);
begin
  if new.number_sequence is null then
    raise check_violation using
      message = format('record %s has the number %s of no sequence', new.id, new.number_value),
      constraint = 'audit_record_number', schema = 'annals', table = 'audit_record',
      hint = 'Name its sequence in number_sequence, and leave number_value out.';
  end if;
  update annals.sequence
    set reserved_from = next_value, next_value = next_value + 1
    where project_id = new.project_id and name = new.number_sequence
      and kind = 'SYNCHRONOUS' and deleted_at is null and next_value <= max_value
    returning reserved_from into new.number_value;
  if not found then
    raise foreign_key_violation using
      message = format('project %s has no sequence %s of kind SYNCHRONOUS with a value left', new.project_id, new.number_sequence),
      constraint = 'audit_record_number', schema = 'annals', table = 'audit_record',
      hint = format('Define one: PUT /v1/sequences/%s.', new.number_sequence);
  end if;
  perform set_config('annals.numbers_drawn', (coalesce(nullif(drawn, ''), '0')::integer + 1)::text, true);
  return new;
end $$;

create trigger number_record before insert on annals.audit_record
  for each row when ((new.number_sequence is null) <> (new.number_value is null))
  execute function annals.number_record();

-- As in V2, and sees to it that no value is drawn for a row which is not inserted after all: ON CONFLICT DO NOTHING
-- decides that when the value is drawn.
create or replace function annals.gather_append() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  unplaced text := coalesce(current_setting('annals.unplaced_projects', true), '');
  drawn    text := current_setting('annals.numbers_drawn', true);
  gathered text;
begin
  if drawn <> '' then
    if drawn::bigint > (select count(*) from inserted where number_sequence is not null) then
      raise object_not_in_prerequisite_state using
        message = 'a record with a number was skipped, which would leave a gap in its sequence',
        hint = 'Insert records with a number_sequence without ON CONFLICT DO NOTHING.';
    end if;
    perform set_config('annals.numbers_drawn', '', true);
  end if;

  insert into annals.append (project_id, id, shared_append_id, record_ids)
  select project_id, (array_agg(id order by position))[1], append_id, array_agg(id order by position)
  from (select project_id, id, append_id, row_number() over () as position from inserted) as record
  where append_id <> id
  group by project_id, append_id, (position - 1) / 256
  order by min(position);

  -- Each project once, so that many small statements in one transaction do not make a long list.
  select string_agg(distinct project_id::text, ',') into gathered
  from inserted
  where strpos(unplaced, project_id::text) = 0;
  if gathered is not null then
    perform set_config('annals.unplaced_projects', concat_ws(',', nullif(unplaced, ''), gathered), true);
  end if;
  return null;
end $$;

create or replace view annals.feed as
select record.project_id,
       segment.first_sequence_id + place.position - 1 as sequence_id,
       record.id,
       record."timestamp",
       record.recorded_at,
       record.action,
       record.actor_type,
       record.actor_id,
       record.actor_name,
       record.subject_type,
       record.subject_id,
       record.subject_name,
       record.outcome,
       record.ip_address,
       record.message,
       record.metadata,
       record.number_sequence,
       record.number_value
from annals.feed_segment segment
left join annals.append on append.project_id = segment.project_id and append.id = segment.append_id
cross join lateral unnest(coalesce(append.record_ids, array[segment.append_id])) with ordinality as place (record_id, position)
join annals.audit_record record on record.project_id = segment.project_id and record.id = place.record_id;

-- Writers name a sequence and never a value: every column but number_value.
revoke insert on annals.audit_record from annals_writer;
grant insert (project_id, id, append_id, "timestamp", recorded_at, action, actor_type, actor_id, actor_name,
  subject_type, subject_id, subject_name, outcome, ip_address, message, metadata, number_sequence)
  on annals.audit_record to annals_writer;
revoke all on function annals.number_record() from public;
