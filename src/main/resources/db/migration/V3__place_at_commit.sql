-- Order. A record gets its place in its project's feed when its transaction commits, so that sequence ids follow
-- commit order and a reader that has seen n has seen all below n.
--
--   insert into audit_record ──┬─ an append of one (placed_with = id) ──────────┐
--                              └─ any other: the statement's records are        ├─ at COMMIT: place_segment()
--                                 gathered in `append`, at most 256 a row ──────┘  lock the project, read the feed's
--                                                                                  head, insert `feed_segment`
--
-- All three tables are insert-only: nothing is updated, no dead row is left. What happens under the lock is one index
-- probe and one insert of fixed size, however many records the append has. A transaction that stays open after its
-- insert holds no lock.

-- The records of an append, in their order. An append of one record is its own row in audit_record and has none here.
create table annals.append (
  project_id        uuid   not null,
  id                uuid   not null,
  -- What the records carry as placed_with, where that is not this append's own id (see shared_append_id()).
  shared_append_id  uuid,
  record_ids        uuid[] not null,
  constraint append_pkey primary key (project_id, id),
  -- Pages unfold whole appends: 256 bounds what a page reads too much.
  constraint append_size check (cardinality(record_ids) between 1 and 256)
);
-- 4 KiB of record ids do not compress; kept in line they are read without a detour.
alter table annals.append alter column record_ids set storage plain;
create index append_shared_append_id_idx on annals.append (project_id, shared_append_id)
  where shared_append_id is not null;

-- The place of an append in its feed: it holds the sequence ids first_sequence_id to last_sequence_id.
create table annals.feed_segment (
  project_id         uuid   not null,
  append_id          uuid   not null,
  first_sequence_id  bigint not null,
  last_sequence_id   bigint not null,
  -- Drawn when the place is given. A database that is set back gives its places again, even to the same records, but no
  -- second time with the same mark: by it a cursor notices. Not random(), whose values anybody can repeat with setseed().
  mark               integer not null default uuid_hash(gen_random_uuid()),
  -- The next segment always begins at head + 1. So a transaction that computes its place from an outdated head collides
  -- here, whatever the sizes of the segments are; a key on last_sequence_id would let overlapping segments pass.
  constraint feed_segment_pkey primary key (project_id, first_sequence_id),
  constraint feed_segment_append_key unique (project_id, append_id)
  -- No check of the range: place_segment() alone writes here, and a check is parsed anew for every commit.
);

-- Sees to it that the session may append to the projects of a statement, gathers the records into appends, and notes the
-- projects for place_segment(). The service does all of that itself.
--
-- Most statements bring one record: nothing is then sorted or aggregated.
create function annals.gather_append() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  unplaced text := coalesce(current_setting('annals.unplaced_projects', true), '');
  gathered text;
  first    record;
  written  uuid;
begin
  select project_id, id, placed_with, number_sequence, (select count(*) = 1 from (select from inserted limit 2) as two) as is_only
    into first from inserted limit 1;
  if first.is_only then
    if not annals.may_write(first.project_id) then
      perform annals.refuse_writer(first.project_id);
    end if;
    if strpos(unplaced, first.project_id::text) = 0 then
      gathered := first.project_id;
    end if;
  else
    for written in select distinct project_id from inserted loop
      if not annals.may_write(written) then
        perform annals.refuse_writer(written);
      end if;
      -- Each project once, so that many small statements in one transaction do not make a long list.
      if strpos(unplaced, written::text) = 0 then
        gathered := concat_ws(',', gathered, written);
      end if;
    end loop;
  end if;
  if gathered is not null then
    perform set_config('annals.unplaced_projects', concat_ws(',', nullif(unplaced, ''), gathered), true);
  end if;

  if not first.is_only then
    insert into annals.append (project_id, id, shared_append_id, record_ids)
    select project_id, (array_agg(id order by position))[1], placed_with, array_agg(id order by position)
    from (select project_id, id, placed_with, row_number() over () as position from inserted) as record
    where placed_with <> id
    group by project_id, placed_with, (position - 1) / 256
    order by min(position);
  elsif first.placed_with <> first.id then
    insert into annals.append (project_id, id, shared_append_id, record_ids)
    values (first.project_id, first.id, first.placed_with, array[first.id]);
  end if;

  -- What number_record() has given out counts as drawn now that the rows are there. Their sequences are locked by it.
  if first.number_sequence is not null
      or not first.is_only and exists (select from inserted where number_sequence is not null) then
    update annals.sequence as s
    set reserved_from = s.next_value, next_value = given.last_value + 1
    from (
      select project_id, number_sequence, max(number_value) as last_value
      from inserted where number_sequence is not null
      group by project_id, number_sequence) as given
    where s.project_id = given.project_id and s.name = given.number_sequence and s.kind = 'SYNCHRONOUS'
      and s.next_value <= given.last_value;
  end if;
  return null;
end $$;

create trigger gather_append
  after insert on annals.audit_record
  referencing new table as inserted
  for each statement
  when (current_user <> 'annals_service')
  execute function annals.gather_append();

-- Locks the feeds of a transaction with several projects. While it waits for one of them, it holds none of the others: what it
-- has of them is given back with a subtransaction. So nobody waits for a project only because somebody who writes to it, too,
-- waits for another one.
--
-- Where several are busy again and again, that would never come to an end. After five waits the locks are taken in one order
-- for everybody, each waited for with those before it in hand: no two transactions wait for each other in a circle.
create function annals.lock_feeds(project_ids uuid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  locked  uuid[];
  busy    uuid;
begin
  for wait in 0 .. 5 loop
    begin
      if busy is not null then
        perform from annals.project where id = busy for no key update;
      end if;
      locked := array(
        select id from annals.project
        where id = any (project_ids) and annals.may_write(id)
        for no key update skip locked);
      if cardinality(locked) = cardinality(project_ids) then
        return;
      end if;
      -- The next one in turn, so that one that is busy for long comes up among others that are busy for a moment. There may be
      -- none: a transaction can name projects that do not exist, or that are not its own.
      busy := (
        select id from annals.project
        where id = any (project_ids) and id <> all (locked) and annals.may_write(id)
        order by id <= busy, id limit 1);
      if busy is null then
        return;
      end if;
      raise sqlstate 'AWAIT';
    exception when sqlstate 'AWAIT' then
      null;
    end;
  end loop;
  perform from annals.project
  where id = any (project_ids) and annals.may_write(id)
  order by id
  for no key update;
end $$;

-- A project that is closed, and the administration's own, take no more than what the schema's own functions record, each by itself:
-- nobody else can use such an action. Closing a project waits for the lock of its feed: nothing is placed after it. A restored archive
-- takes nothing at all.
create function annals.refuse_sealed(project_id uuid, project_name text, action text) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  -- The administration's own first: its first event comes before what is asked next is there.
  if project_name = 'annals' and starts_with(action, 'annals.') then
    return;
  elsif annals.is_restored(project_id) then
    raise object_not_in_prerequisite_state using
      message = format('project %s is a restored archive', project_id),
      constraint = 'audit_record_project_open', schema = 'annals', table = 'audit_record',
      hint = 'It is there to be read. Append to the original.';
  elsif starts_with(action, 'annals.') then
    return;
  elsif project_name = 'annals' then
    raise insufficient_privilege using
      message = format('project %s is the administration''s own: nobody may append to it', project_id),
      constraint = 'audit_record_administration', schema = 'annals', table = 'audit_record',
      hint = 'Append to another project.';
  else
    raise object_not_in_prerequisite_state using
      message = format('project %s is closed', project_id),
      constraint = 'audit_record_project_open', schema = 'annals', table = 'audit_record',
      hint = 'It takes no more records. Append to another project.';
  end if;
end $$;

-- Runs at commit, once an append. Most transactions write to one project: no order of locks is then looked for.
--
-- The lock of a feed is that of its project's row. Only the schema's owner may lock it, since only the owner may change it;
-- an advisory lock could be taken by any login of the database.
create function annals.place_segment() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  unplaced    text := current_setting('annals.unplaced_projects', true);
  append_size integer := 1;
  project     record;
begin
  if tg_table_name = 'append' then
    append_size := cardinality(new.record_ids);
    -- The service's own appends bring their records along, and the trigger that gathers those of everybody else leaves them
    -- alone as long as the service runs as annals_service. Where something has dropped its role, both would place them.
    if new.shared_append_id is not null and exists (
        select from annals.append where project_id = new.project_id and id = new.shared_append_id) then
      raise integrity_constraint_violation using
        message = format('the records of append %s are in append %s as well', new.id, new.shared_append_id),
        hint = format('Statements of the service have to run as annals_service, and these ran by the login %I.', session_user);
    end if;
  end if;

  -- A transaction with several projects takes all their locks at its first segment. The setting is local to the
  -- transaction, and what is rolled back to a savepoint takes its part of it along. Anybody can set it: it gets nobody a
  -- lock on a feed to which they could not append.
  if unplaced <> '' then
    -- A statement in an open transaction brought this about, and not its end: the lock would be held for as long as the
    -- transaction stays open. Long texts are not looked at. (Of a request in parts, PostgreSQL knows no text at its end.)
    if statement_timestamp() <> transaction_timestamp() and octet_length(current_query()) < 8192
        and current_query()
          ~* '^[[:space:]]*(set[[:space:]]+constraints|insert|copy)[[:space:]][^;]*;?[[:space:]]*$' then
      raise feature_not_supported using
        message = format('SET CONSTRAINTS … IMMEDIATE refused: it would lock project %s until the transaction ends', new.project_id),
        hint = 'Name the constraints that you mean instead of ALL; records are placed at COMMIT.';
    end if;
    if unplaced <> new.project_id::text then
      perform annals.lock_feeds(string_to_array(unplaced, ',')::uuid[]);
    end if;
    perform set_config('annals.unplaced_projects', '', true);
  end if;
  -- Foreign keys to the project lock its key only and do not wait for this.
  select name, closed_at is not null or name = 'annals' as is_sealed into project
    from annals.project where id = new.project_id for no key update;
  if not found then
    raise foreign_key_violation using
      message = format('project %s does not exist', new.project_id),
      constraint = 'audit_record_project_fkey', schema = 'annals', table = 'audit_record',
      hint = 'Create the project first: POST /v1/projects.';
  end if;

  -- A reader sees a record as soon as its transaction is over. Without waiting for the disk, a crash could take back what was
  -- read. (A setting of the function would end with it; this one lasts until the transaction is over.)
  if current_setting('synchronous_commit') = 'off' then
    perform set_config('synchronous_commit', 'on', true);
  end if;
  if project.is_sealed then
    perform annals.refuse_sealed(new.project_id, project.name, to_jsonb(new) ->> 'action');
  end if;

  -- Where the records after an old snapshot have expired since, nothing would collide below: see V12. Policy and horizon are
  -- rows that have changed then, which PostgreSQL refuses to lock.
  if current_setting('transaction_isolation') <> 'read committed' then
    perform from annals.feed_horizon where project_id = new.project_id for share;
  end if;

  -- A new statement, and so, at READ COMMITTED, a new snapshot: it sees every commit that held the lock before.
  -- At REPEATABLE READ and SERIALIZABLE the snapshot is as old as the transaction. If the head has moved since, the row
  -- collides with one that the snapshot does not see, and ON CONFLICT turns that into SQLSTATE 40001: the writer tries
  -- again.
  insert into annals.feed_segment (project_id, append_id, first_sequence_id, last_sequence_id)
  select new.project_id, new.id, head.last_sequence_id + 1, head.last_sequence_id + append_size
  from (
    select coalesce((
      select last_sequence_id from annals.feed_segment
      where project_id = new.project_id order by first_sequence_id desc limit 1), 0) as last_sequence_id) as head
  on conflict (project_id, first_sequence_id) do nothing;
  if not found then
    raise serialization_failure using message = format('the feed of project %s has moved on', new.project_id);
  end if;
  return null;
end $$;

create constraint trigger place_segment
  after insert on annals.audit_record
  deferrable initially deferred
  for each row when (new.placed_with = new.id)
  execute function annals.place_segment();

create constraint trigger place_segment
  after insert on annals.append
  deferrable initially deferred
  for each row
  execute function annals.place_segment();

-- Whether the error that is being handled came from waiting for the end of another transaction that has inserted the same
-- id. PostgreSQL says for which index it waited, in whatever language. Any other error than that is an error of the caller.
create function annals.is_held_id(error_context text) returns boolean
language sql immutable
return strpos(error_context, 'audit_record_pkey') > 0;

-- What append_apart.sql calls: see there. Each request is stored in a subtransaction of its own.
create function annals.append_apart(
  request_first integer[], request_last integer[],
  project_id uuid[], id uuid[], placed_with uuid[], "timestamp" timestamptz[],
  action text[], actor_type text[], actor_id text[], actor_name text[],
  subject_type text[], subject_id text[], subject_name text[],
  outcome text[], ip_address text[], message text[], metadata text[],
  append_id uuid[], append_first integer[], append_last integer[], recorded_by_token uuid[],
  out recorded_at timestamptz, out failed integer[], out failed_state text[], out failed_constraint text[])
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  lock_timeout_of_session  text := current_setting('lock_timeout');
  unplaced                 text := '';
  append                   integer := 1;
  error_state              text;
  error_constraint         text;
  error_context            text;
begin
  recorded_at := statement_timestamp();
  failed := '{}';
  failed_state := '{}';
  failed_constraint := '{}';
  -- Nobody sees a record while the transaction that has inserted it is open: whether its id is taken shows only in waiting
  -- for it. Whoever inserts an id in passing has committed it by then.
  perform set_config('lock_timeout', '5ms', true);
  for request in 1 .. cardinality(request_first) loop
    while append_first[append] < request_first[request] loop
      append := append + 1;
    end loop;
    begin
      insert into annals.audit_record (
        project_id, id, placed_with, "timestamp", recorded_at, action,
        actor_type, actor_id, actor_name, subject_type, subject_id, subject_name,
        outcome, ip_address, message, metadata, recorded_by_token, recorded_by_role)
      select
        project_id[i], id[i], placed_with[i], "timestamp"[i], append_apart.recorded_at, action[i],
        actor_type[i], actor_id[i], actor_name[i], subject_type[i], subject_id[i], subject_name[i],
        outcome[i], ip_address[i]::inet, message[i], metadata[i]::jsonb, recorded_by_token[i], null
      from generate_series(request_first[request], request_last[request]) as i;
      while append_last[append] <= request_last[request] loop
        insert into annals.append (project_id, id, record_ids)
        values (
          project_id[append_first[append]], append_id[append], id[append_first[append] : append_last[append]]);
        append := append + 1;
      end loop;
      if strpos(unplaced, project_id[request_first[request]]::text) = 0 then
        unplaced := concat_ws(',', nullif(unplaced, ''), project_id[request_first[request]]);
      end if;
    exception when lock_not_available or data_exception or integrity_constraint_violation or program_limit_exceeded then
      get stacked diagnostics
        error_state = returned_sqlstate, error_constraint = constraint_name, error_context = pg_exception_context;
      if error_state = '55P03' then
        if not annals.is_held_id(error_context) then
          raise;
        end if;
        -- Many that are held are found out at a millisecond each.
        perform set_config('lock_timeout', '1ms', true);
      end if;
      failed := failed || request;
      failed_state := failed_state || error_state;
      failed_constraint := failed_constraint || error_constraint;
    end;
  end loop;
  -- From here on for the feeds' locks, which place_segment() takes together.
  perform set_config('lock_timeout', lock_timeout_of_session, true);
  if strpos(unplaced, ',') > 0 then
    perform set_config('annals.unplaced_projects', unplaced, true);
  end if;
end $$;

-- What find_held_ids.sql calls: see there. It inserts as little as has the id, and takes it back at once.
create function annals.held_ids(project_id uuid, request integer[], id uuid[]) returns uuid[]
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  held           uuid[] := '{}';
  held_request   integer := 0;
  error_context  text;
begin
  perform set_config('lock_timeout', '1ms', true);
  for i in 1 .. cardinality(id) loop
    continue when request[i] = held_request;
    begin
      insert into annals.audit_record (project_id, id, placed_with, action, recorded_by_role)
      values (held_ids.project_id, held_ids.id[i], held_ids.id[i], '-', null);
      raise sqlstate 'PROBE';
    exception
      when sqlstate 'PROBE' or unique_violation then
        null;
      when lock_not_available then
        get stacked diagnostics error_context = pg_exception_context;
        if not annals.is_held_id(error_context) then
          raise;
        end if;
        held := held || held_ids.id[i];
        held_request := request[i];
    end;
  end loop;
  return held;
end $$;

-- Records, appends and segments are never changed: the database refuses, whoever asks.
create function annals.refuse_change() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  raise restrict_violation using
    message = format('%s refused: %I.%I is append-only', tg_op, tg_table_schema, tg_table_name),
    hint = 'To correct a record, append another one that says so.';
end $$;

-- Of records, some values may be removed: see V10. And the oldest ones may go: see V12.
create trigger append_only before truncate on annals.audit_record
  for each statement execute function annals.refuse_change();
create trigger append_only before update or truncate on annals.append
  for each statement execute function annals.refuse_change();
create trigger append_only before update or truncate on annals.feed_segment
  for each statement execute function annals.refuse_change();
