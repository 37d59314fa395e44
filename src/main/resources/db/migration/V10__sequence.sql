-- Sequence generators: numbers for applications. What each kind promises stands in dev.annals.sequence.SequenceKind.
--
-- A sequence is a row. The kinds that reserve values do so with one UPDATE of next_value, and that statement alone is
-- what keeps any value from being issued twice, whatever happens to those who draw.

create table annals.sequence (
  id              uuid        not null,
  project_id      uuid        not null,
  -- The first value that nobody has reserved. For PSEUDO_RANDOM it counts positions in the period, for COMPOSITE
  -- processes, for RECYCLED_SERIES the starts of series; NATIVE and BIT_REVERSED keep theirs in a sequence of
  -- PostgreSQL's own.
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
  -- One below the greatest bigint, so that the value after the last one still is a bigint.
  constraint sequence_range check (start >= 1 and start <= max_value and max_value <= 9223372036854775806),
  constraint sequence_next_value_range check (next_value between 1 and max_value + 1),
  constraint sequence_batch_size check (batch_size between 1 and 1000000),
  constraint sequence_low_water_mark check (low_water_mark between 0 and batch_size)
) with (fillfactor = 50); -- room for the next version of a row on its own page

-- NATIVE and BIT_REVERSED draw from a sequence of PostgreSQL's own, made and dropped with the row.
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
    execute format('create sequence %s as bigint minvalue 1 maxvalue %s start with %s cache %s',
      annals.native_sequence_name(new.id), new.max_value, new.start, new.batch_size);
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
  constraint sequence_series_pkey primary key (sequence_id, first_value),
  constraint sequence_series_sequence_fkey foreign key (sequence_id) references annals.sequence (id),
  constraint sequence_series_range check (first_value <= next_value and next_value <= last_value + 1)
) with (fillfactor = 50);

create function annals.series_lock(sequence_id uuid, first_value bigint) returns bigint
language sql immutable parallel safe
return uuid_hash_extended(sequence_id, first_value);

-- Makes the session the owner of a series: the lowest one that has no owner, or a new one of 1,000,000 values.
-- Null where there is neither: the sequence is exhausted or deleted.
create function annals.claim_series(sequence_id uuid, out first_value bigint)
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  abandoned bigint;
  last      bigint;
begin
  perform from annals.sequence s where s.id = $1 and s.deleted_at is null;
  if not found then
    return;
  end if;
  for abandoned in
    select s.first_value from annals.sequence_series s where s.sequence_id = $1 order by s.first_value
  loop
    if pg_try_advisory_lock(annals.series_lock($1, abandoned)) then
      -- Its owner may have used it up since.
      perform from annals.sequence_series s
        where s.sequence_id = $1 and s.first_value = abandoned and s.next_value <= s.last_value;
      if found then
        first_value := abandoned;
        return;
      end if;
      perform pg_advisory_unlock(annals.series_lock($1, abandoned));
    end if;
  end loop;

  update annals.sequence s
    set reserved_from = s.next_value, next_value = s.next_value + least(1000000, s.max_value - s.next_value + 1)
    where s.id = $1 and s.deleted_at is null and s.next_value <= s.max_value
    returning s.reserved_from, s.next_value - 1 into first_value, last;
  if found then
    -- Locked before anybody else can see it.
    perform pg_advisory_lock(annals.series_lock($1, first_value));
    insert into annals.sequence_series (sequence_id, first_value, last_value, next_value)
    values ($1, claim_series.first_value, last, claim_series.first_value);
  end if;
end $$;

-- MAX_PLUS_ONE: the next value for a column of the caller's table. It is taken once a row with it is inserted; until the
-- transaction ends nobody else gets one.
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
  perform pg_advisory_xact_lock(hashtextextended(column_name, target::oid::bigint));
  -- A new statement, and so a new snapshot: it sees every commit that held the lock before.
  execute format('select max(%I) from %s', column_name, target) into value;
  if value = 9223372036854775807 then
    raise sequence_generator_limit_exceeded using
      message = format('%s.%I holds the greatest bigint', target, column_name);
  end if;
  return coalesce(value, 0) + 1;
end $$;

-- Counts a row that waits for its number at commit, and notes the lock of its group. Called in the WHEN of a trigger,
-- whose text PostgreSQL reads anew for every statement: so it has to be short.
create function annals.note_numbered_row(setting text, group_key text) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  pending  text := current_setting(setting, true);
  locks    text := current_setting('annals.commit_locks', true);
  lock_key text := hashtextextended(group_key, hashtextextended(setting, 0))::text || ',';
begin
  pending := set_config(setting, case when pending <> '' then (pending::integer + 1)::text else '1' end, true);
  if locks is null or locks = '' then
    locks := set_config('annals.commit_locks', ' ' || lock_key, true);
  elsif strpos(locks, ' ' || lock_key) = 0 then
    locks := set_config('annals.commit_locks', locks || ' ' || lock_key, true);
  end if;
  return true;
end $$;

-- COMMIT_ORDERED: numbers the rows of the caller's table when their transaction commits: 1, 2, 3 … in commit order,
-- without a gap, in the whole table or in each group of it.
--
-- Beside the table come, in its schema and of its owner, <table>_commit_order with the last number of each group, and a
-- function of the same name with the table's own statements, so that none has to be planned anew for every row. The
-- trigger's WHEN is evaluated when a row is inserted: there the transaction counts its rows and notes which locks it
-- will need, in settings that are local to it and that a rollback to a savepoint takes back. At commit they tell the
-- function which firing is the last, so that a counter is written once a run of rows, and let it take the locks of
-- several groups in one order for everybody. A transaction holds no lock before its commit.
--
-- The table needs a primary key, and the column must be a bigint that may be null. Writers need no right on the column:
-- whatever they put there is overwritten. A row whose primary key is changed by the very transaction that inserted it
-- stays without a number.
create function annals.attach_commit_order(target regclass, column_name name, group_column name default null) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $attach$
declare
  schema_name  name;
  table_name   name;
  counter      text;
  keys         text;
  group_value  text := case when group_column is null then '''''::text' else format('coalesce(new.%I::text, '''')', group_column) end;
  setting      text := 'annals.commit_' || left(replace(gen_random_uuid()::text, '-', ''), 16);
  stray        boolean;
begin
  select n.nspname, c.relname into schema_name, table_name
    from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = target;
  select string_agg(format('%1$s.%2$I = new.%2$I', target, a.attname), ' and ') into keys
    from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
    where i.indrelid = target and i.indisprimary;
  if keys is null then
    raise invalid_table_definition using message = format('table %s has no primary key', target);
  end if;
  perform from pg_attribute
    where attrelid = target and attname = column_name and atttypid = 'bigint'::regtype and not attnotnull and attnum > 0;
  if not found then
    raise invalid_column_definition using
      message = format('%s has no column %I that is a bigint and may be null', target, column_name);
  end if;
  counter := format('%I.%I', schema_name, table_name || '_commit_order');

  execute format('lock table %s in share row exclusive mode', target);
  execute format('select exists (select from %s where %I is null)', target, column_name) into stray;
  if stray then
    raise object_not_in_prerequisite_state using
      message = format('%s has rows without a number in %I', target, column_name),
      hint = 'Number them first.';
  end if;
  execute format($sql$
    create table %1$s (
      group_key text not null primary key,
      last_value bigint not null
    ) with (fillfactor = 10)
    $sql$, counter);
  execute format('insert into %1$s select %2$s, max(new.%3$I) from %4$s new group by 1', counter, group_value, column_name, target);

  execute format($sql$
    create or replace function %1$s() returns trigger
    language plpgsql security definer set search_path = pg_catalog, pg_temp
    as $trigger$
    declare
      pending  integer;
      locks    text;
      state    text := current_setting(%5$L, true);
      this     text;
      at_group text;
      head     bigint;
      lock_key bigint;
    begin
      -- The one row of its transaction, as most are: all in one statement.
      if current_setting(%4$L) = '1' and coalesce(state, '') = '' then
        state := set_config(%4$L, '0', true);
        with counter as (
          update %1$s set last_value = last_value + 1 where group_key = %2$s returning last_value
        )
        update %6$s set %7$I = counter.last_value from counter where %3$s;
        if found then
          return null;
        end if;
        -- The first row of its group, or one that was deleted again.
        this := %2$s;
        perform from %6$s where %3$s;
        if found then
          insert into %1$s as c values (this, 1)
            on conflict (group_key) do update set last_value = c.last_value + 1
            returning last_value into head;
          update %6$s set %7$I = head where %3$s;
        else
          update %1$s set last_value = last_value - 1 where group_key = this;
        end if;
        return null;
      end if;

      this := %2$s;
      pending := current_setting(%4$L)::integer - 1;
      locks := current_setting('annals.commit_locks', true);
      if locks like '%%,%%,%%' then
        for lock_key in select k::bigint from unnest(string_to_array(rtrim(locks, ','), ',')) k order by 1 loop
          perform pg_advisory_xact_lock(lock_key);
        end loop;
      end if;
      if locks <> '' then
        perform set_config('annals.commit_locks', '', true);
      end if;
      perform set_config(%4$L, pending::text, true);

      if state <> '' then
        head := split_part(state, ':', 1)::bigint;
        at_group := substr(state, strpos(state, ':') + 1);
        if at_group <> this then
          update %1$s set last_value = head where group_key = at_group;
          at_group := null;
        end if;
      end if;

      if at_group is null then
        update %1$s set last_value = last_value + 1 where group_key = this returning last_value into head;
        if not found then
          insert into %1$s as c values (this, 1)
            on conflict (group_key) do update set last_value = c.last_value + 1
            returning last_value into head;
        end if;
        update %6$s set %7$I = head where %3$s;
        if not found then
          head := head - 1;
          update %1$s set last_value = head where group_key = this;
        end if;
        if pending > 0 then
          perform set_config(%5$L, head || ':' || this, true);
        elsif state <> '' then
          perform set_config(%5$L, '', true);
        end if;
        return null;
      end if;

      update %6$s set %7$I = head + 1 where %3$s;
      if found then
        head := head + 1;
      end if;
      if pending = 0 then
        update %1$s set last_value = head where group_key = this;
        perform set_config(%5$L, '', true);
      else
        perform set_config(%5$L, head || ':' || this, true);
      end if;
      return null;
    end $trigger$
    $sql$, counter, group_value, keys, setting, setting || '_at', target, column_name);

  execute format($sql$
    create constraint trigger commit_order after insert on %1$s deferrable initially deferred
    for each row when (annals.note_numbered_row(%3$L, %4$s))
    execute function %2$s()
    $sql$, target, counter, setting, group_value);
end $attach$;

-- Least privilege, as in V5.
revoke all on function annals.native_sequence_name(uuid), annals.keep_native_sequence(), annals.series_lock(uuid, bigint),
  annals.claim_series(uuid), annals.max_plus_one(regclass, name), annals.attach_commit_order(regclass, name, name) from public;

grant select, insert on annals.sequence to annals_service;
grant update (next_value, reserved_from, deleted_at) on annals.sequence to annals_service;
grant select, insert, update, delete on annals.sequence_series to annals_service;
grant execute on function annals.native_sequence_name(uuid), annals.series_lock(uuid, bigint), annals.claim_series(uuid)
  to annals_service;
-- annals.note_numbered_row() stays everybody's, as whoever inserts into such a table calls it.
grant execute on function annals.max_plus_one(regclass, name), annals.attach_commit_order(regclass, name, name)
  to annals_writer, annals_service;
