-- Most statements of plain SQL writers bring one record, and most transactions write to one project: gathering then
-- sorts and aggregates nothing, and placing looks for no order of locks. Otherwise as in V11 and V2.

create or replace function annals.gather_append() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  unplaced text := coalesce(current_setting('annals.unplaced_projects', true), '');
  drawn    text := current_setting('annals.numbers_drawn', true);
  gathered text;
  first    record;
begin
  if drawn <> '' then
    if drawn::bigint > (select count(*) from inserted where number_sequence is not null) then
      raise object_not_in_prerequisite_state using
        message = 'a record with a number was skipped, which would leave a gap in its sequence',
        hint = 'Insert records with a number_sequence without ON CONFLICT DO NOTHING.';
    end if;
    perform set_config('annals.numbers_drawn', '', true);
  end if;

  select project_id, id, append_id, (select count(*) = 1 from (select from inserted limit 2) as two) as is_only
    into first from inserted limit 1;
  if first.is_only then
    if first.append_id <> first.id then
      insert into annals.append (project_id, id, shared_append_id, record_ids)
      values (first.project_id, first.id, first.append_id, array[first.id]);
    end if;
    if strpos(unplaced, first.project_id::text) = 0 then
      gathered := first.project_id;
    end if;
  else
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
  end if;
  if gathered is not null then
    perform set_config('annals.unplaced_projects', concat_ws(',', nullif(unplaced, ''), gathered), true);
  end if;
  return null;
end $$;

create or replace function annals.place_segment() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  unplaced    text := current_setting('annals.unplaced_projects', true);
  append_size integer := 1;
  lock_key    bigint;
begin
  -- A transaction with several projects takes all their locks at its first segment, in one order for everybody:
  -- so no two transactions wait for each other in a circle. The setting is local to the transaction, and what is
  -- rolled back to a savepoint takes its part of it along.
  if unplaced <> '' then
    if unplaced <> new.project_id::text then
      for lock_key in
        select distinct annals.feed_lock(project_id::uuid) from unnest(string_to_array(unplaced, ',')) as project_id order by 1
      loop
        perform pg_advisory_xact_lock(lock_key);
      end loop;
    end if;
    perform set_config('annals.unplaced_projects', '', true);
  end if;
  perform pg_advisory_xact_lock(annals.feed_lock(new.project_id));

  if tg_table_name = 'append' then
    append_size := cardinality(new.record_ids);
  end if;

  -- A new statement, and so, at READ COMMITTED, a new snapshot: it sees every commit that held the lock before.
  -- At REPEATABLE READ and SERIALIZABLE the snapshot is as old as the transaction. If the head has moved since, the row
  -- collides with one that the snapshot does not see, and ON CONFLICT turns that into SQLSTATE 40001: the writer tries
  -- again.
  insert into annals.feed_segment (project_id, append_id, first_sequence_id, last_sequence_id)
  select new.project_id, new.id, head.last_sequence_id + 1, head.last_sequence_id + append_size
  from (
    select last_sequence_id from annals.feed_segment
    where project_id = new.project_id order by first_sequence_id desc limit 1) as head
  on conflict (project_id, first_sequence_id) do nothing;

  if not found then
    -- The feed is empty: only now can the project be one that does not exist.
    insert into annals.feed_segment (project_id, append_id, first_sequence_id, last_sequence_id)
    select id, new.id, 1, append_size
    from annals.project
    where id = new.project_id
    on conflict (project_id, first_sequence_id) do nothing;
    if not found then
      raise foreign_key_violation using
        message = format('project %s does not exist', new.project_id),
        constraint = 'audit_record_project_fkey', schema = 'annals', table = 'audit_record',
        hint = 'Create the project first: POST /v1/projects.';
    end if;
  end if;
  return null;
end $$;
