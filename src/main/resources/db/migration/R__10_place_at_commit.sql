-- Order: a record gets its place in its project's feed when its transaction commits. Sequence ids follow commit order, so a reader
-- that has seen n has seen everything below n.
--
--   insert into audit_record ──┬─ an append of one (placed_with = id) ──────────┐
--                              └─ any other: the statement's records are        ├─ at COMMIT: place_segment()
--                                 gathered in `append`, at most 256 a row ──────┘  lock the project, read the feed's
--                                                                                  head, insert `feed_segment`
--
-- Nothing is updated and no dead row remains. Under the lock there are one index probe and one insert of fixed size. A transaction
-- that stays open after its insert holds no lock.

-- Whether the session may append to a project. It asks for session_user, which neither SET ROLE nor a function can change;
-- current_user is the schema's owner in the functions that call this.
create or replace function annals.may_write(project_id uuid) returns boolean
language plpgsql stable
as $$
begin
  return pg_catalog.pg_has_role(session_user, current_user, 'member')
    or exists (
      select from annals.writer_grant as granted
      where granted.project_id operator(pg_catalog.=) $1
        and pg_catalog.pg_has_role(
          session_user, pg_catalog.to_regrole(pg_catalog.quote_ident(granted.role_name)), 'member'))
    or pg_catalog.pg_has_role(session_user, 'annals_service', 'member');
end $$;

create or replace function annals.refuse_writer(project_id uuid) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  raise insufficient_privilege using
    message = format('role %I may not append to project %s', session_user, project_id),
    hint = format('As the owner of the schema: select annals.grant_writer(%L, %L);', session_user, project_id);
end $$;

-- A record from plain SQL gets its append id before the number of its statement's rows is known. Up to 256 consecutive records of a
-- session share an id (a UUIDv8), which leads to a record's place in few steps.
create or replace function annals.shared_append_id() returns uuid
language sql volatile
return ('0000000000008000' || to_hex(nextval('annals.shared_append_number') / 256 | -9223372036854775808))::uuid;

-- Runs before the insert of a record that names no append. Only plain SQL writers insert such records.
--
-- The right is checked first. A check after the insert would let a unique violation or INSERT 0 0 tell which ids a project has. The usual
-- grant is to the login itself.
--
-- If the session's last statement had one record, the first record of the next one is its own append, which needs no row in append.
-- annals.lone_record keeps this guess. Any login may set it, but it decides about costs alone.
--
-- An IPv4 address mapped to IPv6 is stored as the IPv4 address, by which it is found. The service sends no other. A restored archive
-- keeps what its log has signed.
create or replace function annals.complete_record() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  setting text;
begin
  perform from annals.writer_grant where project_id = new.project_id and role_name = session_user::text;
  if not found then
    if not annals.may_write(new.project_id) then
      perform annals.refuse_writer(new.project_id);
    end if;
  end if;

  if current_setting('annals.lone_record', true) = 'yes' then
    setting := set_config('annals.lone_record', 'no', false);
    new.placed_with := new.id;
    -- The record's own trigger may be immediate, and then runs before gather_append().
    setting := coalesce(current_setting('annals.unplaced_projects', true), '');
    if strpos(setting, new.project_id::text) = 0 then
      setting := set_config('annals.unplaced_projects', concat_ws(',', nullif(setting, ''), new.project_id), true);
    end if;
  elsif current_setting('role') = 'annals_service' then
    -- gather_append() leaves it alone
    new.placed_with := new.id;
  else
    new.placed_with := annals.shared_append_id();
  end if;

  if new.number_sequence is not null and new.number_value is null then
    new.number_value := annals.next_record_number(new);
  end if;
  if family(new.ip_address) = 6 then
    if set_masklen(new.ip_address, 128) <<= '::ffff:0:0/96'::inet and not annals.is_restored(new.project_id) then
      new.ip_address := substr(host(new.ip_address), 8)::inet;
    end if;
  end if;
  return new;
end $$;

-- Runs after each INSERT of records. It gathers the records of plain SQL writers into appends, and notes their projects for
-- place_segment(). The service does both itself. A record whose placed_with is its id is an append of its own.
--
-- PostgreSQL would parse a condition of the trigger for every statement. Instead, the first query ends the usual statement: the service's,
-- or one with a lone record that complete_record() has noted. The usual other statement has up to 256 records of one project and one
-- append id; one pass gathers them.
create or replace function annals.gather_append() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  unplaced    text := coalesce(current_setting('annals.unplaced_projects', true), '');
  setting     text;
  few         record;
  is_usual    boolean;
begin
  -- current_user is the owner here. Only a member can set this role.
  if current_setting('role') = 'annals_service' then
    perform from inserted where num_nulls(number_sequence, number_value) = 1;
  else
    perform from inserted
    where placed_with <> id or number_sequence is not null or number_value is not null or strpos(unplaced, project_id::text) = 0;
  end if;
  if not found then
    if current_setting('annals.lone_record', true) = 'no' then
      setting := set_config('annals.lone_record', 'yes', false);
    end if;
    return null;
  end if;
  select id, number_value into few from inserted where num_nulls(number_sequence, number_value) = 1 limit 1;
  if found then
    -- The sequence may be where the project is.
    perform annals.arrived_with_place(of.project_id, null) from (select distinct project_id from inserted) as of;
    raise check_violation using
      message = format('record %s has the number %s of no sequence', few.id, few.number_value),
      constraint = 'audit_record_number', schema = 'annals', table = 'audit_record',
      hint = 'Name its sequence in number_sequence, and leave number_value out.';
  end if;

  select array_agg(id) as ids, array_agg(project_id) as projects, array_agg(placed_with) as placed_with,
      bool_or(number_sequence is not null) as is_numbered
    into few from (select id, project_id, placed_with, number_sequence from inserted limit 257) as record;
  is_usual := cardinality(few.ids) <= 256 and array_remove(few.projects, few.projects[1]) = '{}'
    and array_remove(few.placed_with, few.placed_with[1]) = '{}' and few.placed_with[1] <> all (few.ids);
  if cardinality(few.ids) = 1 then
    setting := set_config('annals.lone_record', 'yes', false);
  elsif not is_usual then
    few.projects := array(select distinct project_id from inserted);
    few.is_numbered := exists (select from inserted where number_sequence is not null);
  end if;

  -- Before the insert, whose trigger may be immediate. Each project once, so that many small statements do not make a long list.
  for i in 1 .. case when is_usual then 1 else cardinality(few.projects) end loop
    if strpos(unplaced, few.projects[i]::text) = 0 then
      unplaced := concat_ws(',', nullif(unplaced, ''), few.projects[i]);
      setting := set_config('annals.unplaced_projects', unplaced, true);
    end if;
  end loop;

  if is_usual then
    insert into annals.append (project_id, id, shared_append_id, record_ids)
    values (few.projects[1], few.ids[1], few.placed_with[1], few.ids);
  else
    insert into annals.append (project_id, id, shared_append_id, record_ids)
    select project_id, (array_agg(id order by position))[1], placed_with, array_agg(id order by position)
    from (select project_id, id, placed_with, row_number() over () as position from inserted) as record
    where placed_with <> id
    group by project_id, placed_with, (position - 1) / 256
    order by min(position);
  end if;

  -- The numbers of next_record_number() count as drawn now that the rows exist. It has locked their sequences.
  if few.is_numbered then
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

-- Locks the feeds of a transaction with several projects. While it waits for one, it holds none of the others: a subtransaction gives
-- them back. A transaction that waits for project B thus does not block project A. If several projects stay busy, that might never end:
-- after five waits it locks them in one order, which all transactions share, so they do not deadlock.
create or replace function annals.lock_feeds(project_ids uuid[]) returns void
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
      -- In turn, so that a project that is busy for long is tried among others. None: a transaction can name projects that do not
      -- exist or are not its own.
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

-- A closed project and the administration's own accept only events of the schema's functions, each its own append: no other writer can use
-- such an action. Closing a project waits for its feed's lock, so nothing is placed later. A restored archive accepts nothing.
create or replace function annals.refuse_sealed(project_id uuid, project_name text, action text) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  -- First, because its first event precedes the tables that follow.
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

-- Refuses records whose time is further ahead of the clock than their project allows.
create or replace function annals.refuse_ahead(project_id uuid, record_ids uuid[], seconds_ahead bigint) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  ahead  record;
begin
  select r.id, r."timestamp" into ahead from annals.audit_record as r
  where r.project_id = refuse_ahead.project_id and r.id = any (record_ids)
    and r."timestamp" > clock_timestamp() + make_interval(secs => seconds_ahead)
  limit 1;
  if found then
    raise check_violation using
      message = format('record %s has the time %s, more than %s s ahead of the clock', ahead.id, ahead."timestamp", seconds_ahead),
      constraint = 'audit_record_seconds_ahead', schema = 'annals', table = 'audit_record',
      hint = 'Correct the clock of the writer.';
  end if;
end $$;

-- Refuses a project that this database does not have. Returns whether this transaction has taken the append's place from another
-- database: a place that arrived before is of other records.
create or replace function annals.arrived_with_place(project_id uuid, append_id uuid) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  project annals.project;
begin
  select * into project from annals.project as p where p.id = project_id;
  if project.placement = 'here' then
    return false;
  end if;
  if project.placement = 'arriving' and exists (
      select from annals.feed_segment as s
      where s.project_id = project_id and s.append_id = append_id and s.xmin = pg_current_xact_id()::xid) then
    return true;
  end if;
  perform annals.refuse_elsewhere(project);
end $$;

-- This database was restored or promoted, and is not compared with the others yet: see admit().
create or replace function annals.refuse_unadmitted(project annals.project) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  raise sqlstate 'AN307' using
    message = format('project %s waits until this database, which was restored or promoted, is compared with the others', project.id),
    detail = jsonb_build_object('project_id', project.id, 'database', null, 'placement', 'unadmitted')::text,
    hint = 'Send the transaction again in a moment. An instance of the service compares, or annals reconcile. If that lasts, the log of the service names the cause.';
end $$;

create or replace function annals.refuse_elsewhere(project annals.project) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  placement text := case when project.placement = 'sealed' and not project.is_moving then 'suspended' else project.placement end;
begin
  raise sqlstate 'AN307' using
    message = case placement
      when 'gone' then format('project %s is in the database %s', project.id, project.moved_to)
      when 'suspended' then format('project %s is suspended: databases of the service contradict each other', project.id)
      when 'sealed' then format('project %s is moving to the database %s', project.id, project.moved_to)
      when 'arriving' then format('project %s is moving here from the database %s', project.id, project.moved_to)
      else format('this database does not have project %s', project.id) end,
    detail = jsonb_build_object(
      'project_id', project.id, 'database', project.moved_to, 'placement', placement)::text,
    hint = case placement
      when 'suspended' then 'annals reconcile decides, or says what an operator has to decide.'
      when 'gone' then 'Connect to that database and send the transaction again.'
      else 'Send the transaction again in a moment. annals.where_is() says where the project is.' end;
end $$;

-- True if this database has the project, which may be sealed; otherwise an error, as for writers. For statements that read what is not
-- of the feed's pages: as a condition without columns, it is checked once, before any row is read.
create or replace function annals.require_readable(project_id uuid) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  project annals.project;
begin
  select * into project from annals.project as p where p.id = project_id;
  if project.placement in ('here', 'sealed') then
    return true;
  end if;
  project.id := project_id;
  perform annals.refuse_elsewhere(project);
end $$;

-- The placement of a project, by its id or its name, and the name of the database that has it, or will have it if the project is
-- sealed; null if this database has it. Nulls for a session that may not append to the project.
create or replace function annals.where_is(project text, out placement text, out database text)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select p.placement, p.moved_to from annals.project as p
  where (p.name = $1 or p.id = case when $1 ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then $1::uuid end)
    and annals.may_write(p.id)
$$;

-- Runs at commit, once an append. The lock of a feed is its project's row. Only the schema's owner may lock it, because only the owner
-- may change it; any login could take an advisory lock.
create or replace function annals.place_segment() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  unplaced      text := current_setting('annals.unplaced_projects', true);
  append_size   integer := 1;
  project_name  text;
  is_sealed     boolean;
  seconds_ahead bigint;
  head          bigint;
begin
  if tg_table_name = 'append' then
    append_size := cardinality(new.record_ids);
    -- The service's appends have their records, and gather_append() leaves annals_service alone. If something dropped that role, both
    -- would place them. shared_append_id() makes smaller ids, which need no look; writers cannot choose them.
    if new.shared_append_id >= '00000000-0000-8000-c000-000000000000' then
      if exists (
        select from annals.append
        where project_id = new.project_id and id = new.shared_append_id and record_ids && new.record_ids) then
        raise integrity_constraint_violation using
          message = format('the records of append %s are in append %s as well', new.id, new.shared_append_id),
          hint = format('Statements of the service have to run as annals_service, and these ran by the login %I.', session_user);
      end if;
    end if;
  end if;

  -- At its first segment, a transaction with several projects locks them all. The setting is local to the transaction, and a
  -- savepoint's rollback restores it. A writer that sets it gets no lock on a feed to which it may not append.
  if unplaced <> '' then
    -- A statement of the transaction places records, and not its end: the lock would last as long as the transaction is open. Long texts
    -- are not examined. (PostgreSQL knows no text at the end of an extended-protocol request.)
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
    unplaced := set_config('annals.unplaced_projects', '', true);
  end if;
  -- Foreign keys to the project lock its key only, and do not wait for this.
  select name, closed_at is not null or name = 'annals' or placement <> 'here'
      or exists (select from annals.admission as a where a.incarnation <> annals.incarnation()), (limits ->> 'seconds_ahead')::bigint
    into project_name, is_sealed, seconds_ahead
    from annals.project where id = new.project_id for no key update;
  if not found then
    if annals.is_member() then
      raise sqlstate 'AN307' using
        message = format('this database does not have project %s', new.project_id),
        detail = jsonb_build_object('project_id', new.project_id, 'database', null, 'placement', null)::text,
        hint = 'Its home knows where the project is. After a restore, annals reconcile finds it.';
    end if;
    raise foreign_key_violation using
      message = format('project %s does not exist', new.project_id),
      constraint = 'audit_record_project_fkey', schema = 'annals', table = 'audit_record',
      hint = 'Create the project first: POST /v1/projects.';
  end if;

  -- A reader sees a record once its transaction is over. Without waiting for the disk, a crash could undo what was read. (A setting
  -- of the function would end with it; this one lasts for the transaction.)
  if current_setting('synchronous_commit') = 'off' then
    perform set_config('synchronous_commit', 'on', true);
  end if;
  if is_sealed then
    if annals.arrived_with_place(new.project_id, new.id) then
      return null;
    end if;
    perform annals.refuse_unadmitted(p) from annals.project as p
    where p.id = new.project_id and p.name <> 'annals' and p.closed_at is null;
    perform annals.refuse_sealed(new.project_id, project_name, to_jsonb(new) ->> 'action');
  end if;
  if seconds_ahead is not null then
    if tg_table_name = 'append' then
      perform annals.refuse_ahead(new.project_id, new.record_ids, seconds_ahead);
    else
      perform annals.refuse_ahead(new.project_id, array[new.id], seconds_ahead);
    end if;
  end if;

  -- Two new statements. At READ COMMITTED their snapshot has every commit that held the lock before.
  select last_sequence_id into head from annals.feed_segment
  where project_id = new.project_id order by first_sequence_id desc limit 1;
  head := coalesce(head, 0);
  if current_setting('transaction_isolation') = 'read committed' then
    insert into annals.feed_segment (project_id, append_id, first_sequence_id, last_sequence_id)
    values (new.project_id, new.id, head + 1, head + append_size);
    return null;
  end if;
  -- At REPEATABLE READ and SERIALIZABLE the snapshot is older. If the head has moved since, the row collides with one that the snapshot
  -- does not have, and ON CONFLICT makes that SQLSTATE 40001: the writer tries again. If the records after the snapshot have expired
  -- since, nothing would collide; but the horizon's row has changed then, and PostgreSQL refuses to lock it.
  perform from annals.feed_horizon where project_id = new.project_id for share;
  insert into annals.feed_segment (project_id, append_id, first_sequence_id, last_sequence_id)
  values (new.project_id, new.id, head + 1, head + append_size)
  on conflict (project_id, first_sequence_id) do nothing;
  if not found then
    raise serialization_failure using message = format('the feed of project %s has moved on', new.project_id);
  end if;
  return null;
end $$;

-- Whether the error came from waiting for a transaction that inserted the same id. PostgreSQL names the index that it waited for, in every
-- language.
create or replace function annals.is_held_id(error_context text) returns boolean
language sql immutable
return strpos(error_context, 'audit_record_pkey') > 0;

-- Called by append_apart.sql. Each request is stored in a subtransaction of its own.
create or replace function annals.append_apart(
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
  -- An uncommitted record is invisible: only waiting for it shows that its id is taken. A short insert has committed it by then.
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
        -- Many held ids are found at a millisecond each.
        perform set_config('lock_timeout', '1ms', true);
      end if;
      failed := failed || request;
      failed_state := failed_state || error_state;
      failed_constraint := failed_constraint || error_constraint;
    end;
  end loop;
  -- For the feeds' locks, which place_segment() takes together.
  perform set_config('lock_timeout', lock_timeout_of_session, true);
  if strpos(unplaced, ',') > 0 then
    perform set_config('annals.unplaced_projects', unplaced, true);
  end if;
end $$;

-- Called by find_held_ids.sql. It inserts only the ids, and takes them back at once.
create or replace function annals.held_ids(project_id uuid, request integer[], id uuid[]) returns uuid[]
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

-- Records, appends and segments never change. redact() may remove values, remove_expired() the oldest records.
create or replace function annals.refuse_change() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  raise restrict_violation using
    message = format('%s refused: %I.%I is append-only', tg_op, tg_table_schema, tg_table_name),
    hint = 'To correct a record, append another one that says so.';
end $$;
