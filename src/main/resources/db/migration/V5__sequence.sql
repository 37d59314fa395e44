-- Sequence generators: numbers for applications. What each kind promises is documented in dev.annals.core.sequence.SequenceKind.
--
-- A sequence is a row. The kinds that reserve values do so with one UPDATE of next_value. That statement alone keeps any
-- value from being issued twice, whatever happens to those who draw.

create table annals.sequence (
  id              uuid        not null,
  project_id      uuid        not null,
  -- The first value that nobody has reserved. For PSEUDO_RANDOM it counts positions in the period, for COMPOSITE processes,
  -- for RECYCLED_SERIES the starts of series; NATIVE and BIT_REVERSED keep theirs in a PostgreSQL sequence.
  next_value      bigint      not null,
  -- Where the last reservation began: RETURNING shows no old values before PostgreSQL 18.
  reserved_from   bigint,
  start           bigint      not null,
  max_value       bigint      not null,
  created_at      timestamptz not null default clock_timestamp(),
  -- A deleted sequence keeps its name: under a second one, its values would be issued again.
  deleted_at      timestamptz,
  batch_size      integer     not null,
  low_water_mark  integer     not null,
  kind            text        not null,
  name            text        not null,
  constraint sequence_pkey primary key (id),
  constraint sequence_name_key unique (project_id, name),
  constraint sequence_project_fkey foreign key (project_id) references annals.project (id),
  constraint sequence_name_form check (name ~ '^[A-Za-z0-9._-]{1,128}$'),
  constraint sequence_kind check (kind in ('SYNCHRONOUS', 'ASYNCHRONOUS', 'BATCH', 'ASYNC_BATCH', 'PSEUDO_RANDOM',
    'COMPOSITE', 'RECYCLED_SERIES', 'BIT_REVERSED', 'NATIVE')),
  -- One below the greatest bigint, so that the value after the last one is still a bigint.
  constraint sequence_range check (start >= 1 and start <= max_value and max_value <= 9223372036854775806),
  constraint sequence_next_value_range check (next_value between 1 and max_value + 1),
  constraint sequence_batch_size check (batch_size between 1 and 1000000),
  constraint sequence_low_water_mark check (low_water_mark between 0 and batch_size)
) with (fillfactor = 50); -- room for the next version of a row on its own page

-- NATIVE and BIT_REVERSED draw from a PostgreSQL sequence, which is created and dropped with the row.
create function annals.native_sequence_name(id uuid) returns text
language sql immutable parallel safe
return 'annals.sequence_' || replace(id::text, '-', '');

create function annals.keep_native_sequence() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_op = 'UPDATE' then
    if new.deleted_at is not null and old.deleted_at is null then
      execute format('drop sequence if exists %s', annals.native_sequence_name(new.id));
    end if;
    return null;
  end if;
  if (select count(*) from annals.sequence where project_id = new.project_id) > 1000 then
    raise check_violation using
      message = format('project %s has 1000 sequences', new.project_id),
      constraint = 'sequence_limit', schema = 'annals', table = 'sequence';
  end if;
  if new.kind in ('NATIVE', 'BIT_REVERSED') then
    -- A sequence may have 1 as its only value; PostgreSQL requires a maximum above the minimum.
    execute format('create sequence %s as bigint minvalue %s maxvalue %s start with %s cache %s',
      annals.native_sequence_name(new.id), least(1, new.max_value - 1), new.max_value, new.start, new.batch_size);
    execute format('grant usage on sequence %s to annals_service', annals.native_sequence_name(new.id));
  end if;
  return null;
end $$;

create trigger keep_native_sequence
  after insert or update of deleted_at on annals.sequence
  for each row execute function annals.keep_native_sequence();

-- The series of RECYCLED_SERIES that are not used up. Whoever holds a series' advisory lock owns it; the lock belongs to
-- a session, so the server itself frees it when the owner dies.
create table annals.sequence_series (
  sequence_id    uuid   not null,
  first_value    bigint not null,
  last_value     bigint not null,
  next_value     bigint not null,
  reserved_from  bigint,
  -- Drawn at random, because any login may take any advisory lock: so nobody can take this one before its first owner.
  -- Whoever takes it after the owner is gone only keeps the series from being recycled.
  lock_key       bigint not null default hashtextextended(gen_random_uuid()::text, 0),
  constraint sequence_series_pkey primary key (sequence_id, first_value),
  constraint sequence_series_sequence_fkey foreign key (sequence_id) references annals.sequence (id),
  constraint sequence_series_range check (first_value <= next_value and next_value <= last_value + 1)
) with (fillfactor = 50);

-- Makes the session the owner of a series: the lowest one that has no owner, or a new one of 1,000,000 values. Null if
-- there is neither: the sequence is exhausted or deleted.
create function annals.claim_series(sequence_id uuid, out first_value bigint)
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
      -- Its owner may have used it up in the meantime.
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
    -- Before anybody else can see it.
    perform pg_advisory_lock(claimed);
  end if;
end $$;

-- The locks of MAX_PLUS_ONE, one row per column. Only those who may insert into its table see the row, and so only they can
-- lock it. An advisory lock could be taken by any login.
create table annals.max_plus_one_lock (
  target       oid  not null,
  column_name  name not null,
  constraint max_plus_one_lock_pkey primary key (target, column_name)
);
alter table annals.max_plus_one_lock enable row level security;
create policy whoever_may_insert on annals.max_plus_one_lock
  using (has_any_column_privilege(target, 'insert'))
  with check (has_any_column_privilege(target, 'insert')
    and exists (select from pg_attribute where attrelid = target and attname = column_name));

-- MAX_PLUS_ONE: the next value for a column of the caller's table. It is used once a row with it is inserted; until the
-- transaction ends, nobody else gets a value.
create function annals.max_plus_one(target regclass, column_name name) returns bigint
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
  -- A new statement, and so a new snapshot: it sees every commit that held the lock before.
  execute format('select max(%I) from %s', column_name, target) into value;
  if value = 9223372036854775807 then
    raise sequence_generator_limit_exceeded using
      message = format('%s.%I holds the greatest bigint', target, column_name);
  end if;
  return coalesce(value, 0) + 1;
end $$;

-- Numbers with records. A record that names a sequence of kind SYNCHRONOUS gets its next value in the statement that
-- inserts it: both are committed, or neither is. So the records of a sequence count 1, 2, 3 … without a gap, whatever
-- fails, and in the order of the feed, since the sequence's row stays locked until the transaction ends.
--
--   insert into annals.audit_record (project_id, action, message, number_sequence) values (…, 'invoice');
--
-- The service draws the values of a whole batch at once (sql/append_numbered_records.sql). For all others, number_record()
-- sets the value.

-- Gives a record its value, and locks the sequence. The value is the one after all that have been drawn or given, including
-- those of rows that the same statement has inserted. gather_append() counts the values as drawn when the statement ends.
-- So a row that ON CONFLICT DO NOTHING skips, which is decided after this, uses no value.
--
-- A value without a sequence is refused, so every record has both or neither. (A check constraint for this would be parsed
-- for every statement, in addition to this trigger's WHEN.)
--
-- The settings keep a plan that was made while the table was small from scanning the whole table for every row.
create function annals.number_record() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
  sequence record;
begin
  if new.number_sequence is null then
    raise check_violation using
      message = format('record %s has the number %s of no sequence', new.id, new.number_value),
      constraint = 'audit_record_number', schema = 'annals', table = 'audit_record',
      hint = 'Name its sequence in number_sequence, and leave number_value out.';
  end if;
  -- Before the lock, and not only when the statement ends.
  if not annals.may_write(new.project_id) then
    perform annals.refuse_writer(new.project_id);
  end if;
  select next_value, max_value into sequence
    from annals.sequence
    where project_id = new.project_id and name = new.number_sequence and kind = 'SYNCHRONOUS' and deleted_at is null
    for no key update;
  if found then
    -- A new statement, and so a new snapshot: it sees every commit that held the lock before.
    select greatest(sequence.next_value, max(number_value) + 1) into new.number_value
      from annals.audit_record
      where project_id = new.project_id and number_sequence = new.number_sequence;
  end if;
  if not found or new.number_value > sequence.max_value then
    raise foreign_key_violation using
      message = format('project %s has no sequence %s of kind SYNCHRONOUS with a value left', new.project_id, new.number_sequence),
      constraint = 'audit_record_number', schema = 'annals', table = 'audit_record',
      hint = format('Define one: PUT /v1/sequences/%s.', new.number_sequence);
  end if;
  return new;
end $$;

create trigger number_record before insert on annals.audit_record
  for each row when ((new.number_sequence is null) <> (new.number_value is null))
  execute function annals.number_record();
