-- Sequence generators: numbers for applications. dev.annals.core.sequence.SequenceKind documents each kind. Kinds that reserve values
-- do it with one UPDATE of next_value, which alone keeps a value from being issued twice.

-- NATIVE and BIT_REVERSED draw from a PostgreSQL sequence, which is created and dropped with the row.
create or replace function annals.native_sequence_name(id uuid) returns text
language sql immutable parallel safe
return 'annals.sequence_' || replace(id::text, '-', '');

create or replace function annals.keep_native_sequence() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set client_min_messages = 'warning'
as $$
begin
  if tg_op = 'DELETE' then
    -- With a copy. In a database that the project has left, it has another name: see rename_native_sequences().
    execute format('drop sequence if exists %1$s, %1$s_sealed', annals.native_sequence_name(old.id));
    return null;
  end if;
  if tg_op = 'UPDATE' then
    if new.deleted_at is not null and old.deleted_at is null and to_regclass(annals.native_sequence_name(new.id)) is not null then
      execute format('drop sequence %s', annals.native_sequence_name(new.id));
    end if;
    return null;
  end if;
  if (select count(*) from annals.sequence where project_id = new.project_id) > 1000 then
    raise check_violation using
      message = format('project %s has 1000 sequences', new.project_id),
      constraint = 'sequence_limit', schema = 'annals', table = 'sequence';
  end if;
  if new.kind in ('NATIVE', 'BIT_REVERSED') then
    -- A sequence may have 1 as its only value; PostgreSQL wants a maximum above the minimum.
    execute format('create sequence %s as bigint minvalue %s maxvalue %s start with %s cache %s',
      annals.native_sequence_name(new.id), least(1, new.max_value - 1), new.max_value, new.start, new.batch_size);
  end if;
  return null;
end $$;

-- Draws values. The project is looked at after them: a draw that has waited for the seal would otherwise go on behind it.
create or replace function annals.draw_native(id uuid, count integer) returns setof bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  project annals.project;
begin
  return query select nextval(annals.native_sequence_name(id)::regclass) from generate_series(1, count);
  select p.* into project from annals.sequence as s join annals.project as p on p.id = s.project_id where s.id = id;
  if project.placement <> 'here' then
    perform annals.refuse_elsewhere(project);
  end if;
end $$;

-- Makes the session the owner of a series: the lowest one without an owner, or a new one of 1,000,000 values. Null if the sequence is
-- exhausted or deleted.
create or replace function annals.claim_series(sequence_id uuid, out first_value bigint)
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  abandoned record;
  last      bigint;
  claimed   bigint;
begin
  perform from annals.sequence s where s.id = $1 and s.deleted_at is null;
  if not found then
    return;
  end if;
  for abandoned in
    select s.first_value, s.lock_key from annals.sequence_series s where s.sequence_id = $1 order by s.first_value
  loop
    if pg_try_advisory_lock(abandoned.lock_key) then
      -- Its owner may have used it up meanwhile.
      perform from annals.sequence_series s
        where s.sequence_id = $1 and s.first_value = abandoned.first_value and s.next_value <= s.last_value;
      if found then
        first_value := abandoned.first_value;
        return;
      end if;
      perform pg_advisory_unlock(abandoned.lock_key);
    end if;
  end loop;

  update annals.sequence s
    set reserved_from = s.next_value, next_value = s.next_value + least(1000000, s.max_value - s.next_value + 1)
    where s.id = $1 and s.deleted_at is null and s.next_value <= s.max_value
    returning s.reserved_from, s.next_value - 1 into first_value, last;
  if found then
    insert into annals.sequence_series (sequence_id, first_value, last_value, next_value)
    values ($1, claim_series.first_value, last, claim_series.first_value)
    returning lock_key into claimed;
    -- Before another session can see it.
    perform pg_advisory_lock(claimed);
  end if;
end $$;

-- MAX_PLUS_ONE: the next value for a column of the caller's table. Until the transaction ends, no other session gets a value.
create or replace function annals.max_plus_one(target regclass, column_name name) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  value bigint;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise feature_not_supported using
      message = format('max_plus_one(%L, %L) at isolation level %s: its snapshot is older than the lock',
        target::text, column_name, current_setting('transaction_isolation')),
      hint = 'Use READ COMMITTED.';
  end if;
  if not has_any_column_privilege(target, 'insert') then
    raise insufficient_privilege using message = format('max_plus_one() is for those who may insert into %s', target);
  end if;
  perform from annals.max_plus_one_lock as lock
    where lock.target = max_plus_one.target::oid and lock.column_name = max_plus_one.column_name
    for no key update;
  if not found then
    insert into annals.max_plus_one_lock (target, column_name) values (target, column_name) on conflict do nothing;
    perform from annals.max_plus_one_lock as lock
      where lock.target = max_plus_one.target::oid and lock.column_name = max_plus_one.column_name
      for no key update;
  end if;
  -- A new statement, so its snapshot has every commit that held the lock before.
  execute format('select max(%I) from %s', column_name, target) into value;
  if value = 9223372036854775807 then
    raise sequence_generator_limit_exceeded using
      message = format('%s.%I holds the greatest bigint', target, column_name);
  end if;
  return coalesce(value, 0) + 1;
end $$;

-- The number of a record that is about to be inserted. A record that names a SYNCHRONOUS sequence gets its next value in the statement
-- that inserts it. The records of a sequence count 1, 2, 3 … in feed order without a gap: the sequence's row is locked until the
-- transaction ends. The service draws the values of a batch at once (append_numbered_records.sql).
--
-- The value is the one after all that were drawn or given, including those of rows that the statement has inserted. gather_append()
-- counts the values as drawn at the end of the statement, so a row that ON CONFLICT DO NOTHING skips uses none. It also refuses a value
-- without a sequence: a check constraint would be parsed for every statement.
--
-- The settings keep a plan made while the table was small from scanning the whole table for every row.
create or replace function annals.next_record_number(record annals.audit_record) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
  sequence  record;
  number    bigint;
begin
  -- The sequence is where the project is. A number of a project that arrives would collide with one that arrives.
  perform annals.arrived_with_place(record.project_id, null);
  select next_value, max_value into sequence
    from annals.sequence
    where project_id = record.project_id and name = record.number_sequence and kind = 'SYNCHRONOUS' and deleted_at is null
    for no key update;
  if found then
    -- A new statement, so its snapshot has every commit that held the lock before.
    select greatest(sequence.next_value, max(number_value) + 1) into number
      from annals.audit_record
      where project_id = record.project_id and number_sequence = record.number_sequence;
  end if;
  if not found or number > sequence.max_value then
    raise foreign_key_violation using
      message = format('project %s has no sequence %s of kind SYNCHRONOUS with a value left', record.project_id, record.number_sequence),
      constraint = 'audit_record_number', schema = 'annals', table = 'audit_record',
      hint = format('Define one: PUT /v1/sequences/%s.', record.number_sequence);
  end if;
  return number;
end $$;
