-- Moves of a project from one database to another. annals.project.placement says what a database accepts, under the lock that each
-- commit takes.
--
--   source    begin_move()  here, and nothing expires     seal_project()  sealed      leave_project()  gone, a copy stays
--   target    arrive_project()  arriving     take_…()  the next places of this epoch, and what belongs to them     open_project()  here
--   home      start_move()  copying     switch_move()  switched, or cancel_move()  cancelling; one row decides
--
-- A move has a greater epoch than the moves of its project before. Each function can be repeated, and refuses another epoch.

-- Each table with rows of projects, and how it moves:
--   feed        copied in chunks of the feed
--   tree        copied, and once more as far as it has changed
--   state       copied before the seal, and under it as far as it differs. With a kind, its rows have events in the administration's feed
--   derived     derived anew by the target once it has the project: a redaction during the move corrects none of it
--   home        stays in home
--   stays       does not move
create or replace function annals.moved_tables() returns table (number integer, name text, way text, kind text)
language sql immutable
as $$
  values
    (1, 'feed_segment', 'feed', null), (2, 'append', 'feed', null), (3, 'audit_record', 'feed', null), (4, 'redaction', 'feed', null),
    (5, 'merkle_tile', 'tree', null), (6, 'merkle_seed', 'tree', null),
    (10, 'writer_grant', 'state', 'writer'), (11, 'legal_hold', 'state', 'hold'), (12, 'feed_horizon', 'state', null),
    (13, 'archive', 'state', 'archive'), (14, 'sequence', 'state', null), (15, 'sequence_series', 'state', null),
    (16, 'stream', 'state', 'stream'), (17, 'stream_progress', 'state', null), (18, 'stream_dead_letter', 'state', null),
    (19, 'alert', 'state', 'alert'),
    (22, 'saved_view', 'state', 'view'), (24, 'merkle_log', 'state', null),
    (25, 'merkle_epoch', 'state', null), (26, 'merkle_witness', 'state', null),
    (30, 'projection_checkpoint', 'derived', null), (31, 'daily_count', 'derived', null), (32, 'daily_total', 'derived', null),
    (33, 'search_block', 'derived', null), (34, 'term', 'derived', null), (35, 'verification', 'derived', null),
    (40, 'access_token', 'home', null), (41, 'identity_grant', 'home', null), (42, 'move', 'home', null),
    (44, 'catalogue', 'home', null), (45, 'catalogue_action', 'home', null), (46, 'look', 'home', null),
    (43, 'restored_archive', 'stays', null), (47, 'arrival', 'stays', null)
$$;

-- The condition by which a table's rows belong to a project. Streams of all projects belong to the database: a source could otherwise
-- give a project one that reads the others.
create or replace function annals.of_project(table_name text, project_id text default '$1') returns text
language sql immutable
return replace(
  case
    when table_name = 'sequence_series' then 'sequence_id in (select id from annals.sequence where project_id = :id)'
    when table_name = 'stream' then 'project_id = :id and not all_projects'
    when table_name in ('stream_progress', 'stream_dead_letter')
      then 'project_id = :id and stream_id in (select id from annals.stream where project_id = :id and not all_projects)'
    else 'project_id = :id' end,
  ':id', project_id);

-- Refuses changes of what a project has in a database that does not have the project. The seal locks all rows, so that a change either is
-- copied or sees the seal; and it waits for inserts, which lock the project. A transaction with an old snapshot sees the seal only by a lock.
create or replace function annals.require_here() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  changed   record := new;
  of        uuid;
  project   annals.project;
begin
  if tg_op = 'DELETE' then
    changed := old;
  end if;
  if tg_table_name = 'stream_progress' then
    -- Of a stream of all projects, it stays in home.
    if exists (select from annals.stream as s where s.id = changed.stream_id and s.all_projects) then
      return changed;
    end if;
  end if;
  if tg_table_name = 'sequence_series' then
    of := (select s.project_id from annals.sequence as s where s.id = changed.sequence_id);
  else
    of := changed.project_id;
  end if;
  if tg_op = 'INSERT' or current_setting('transaction_isolation') <> 'read committed' then
    select * into project from annals.project as p where p.id = of for key share;
  else
    select * into project from annals.project as p where p.id = of;
  end if;
  if project.placement <> 'here' and current_setting('annals.moving_project', true) is distinct from of::text then
    perform annals.refuse_elsewhere(project);
  end if;
  return changed;
end $$;

create or replace function annals.refuse_change_of_sealed() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  perform annals.refuse_elsewhere(old);
  return new;
end $$;

-- Permits what the triggers otherwise refuse until the transaction ends.
create or replace function annals.lock_moving(project_id uuid, epoch bigint, placements text[]) returns annals.project
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  project  annals.project;
  setting  text;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise feature_not_supported using message = 'projects move at the isolation level READ COMMITTED only';
  end if;
  select * into project from annals.project as p where p.id = project_id for update;
  if project.id is null then
    raise object_not_in_prerequisite_state using
      message = format('this database does not have project %s', coalesce(project_id::text, 'null')),
      constraint = 'project_placement_epoch', schema = 'annals', table = 'project';
  elsif project.placement <> all (placements) or project.placement_epoch is distinct from epoch then
    raise object_not_in_prerequisite_state using
      message = format('project %s is %s in the epoch %s, and not %s in the epoch %s', project_id, project.placement,
        project.placement_epoch, array_to_string(placements, ' or '), coalesce(epoch::text, 'null')),
      constraint = 'project_placement_epoch', schema = 'annals', table = 'project';
  end if;
  setting := set_config('annals.moving_project', project_id::text, true);
  return project;
end $$;

-- --- The source ------------------------------------------------------------------------------------------------------------

-- The project stays here, and none of its records expire until the move ends.
create or replace function annals.begin_move(project_id uuid, database text, epoch bigint) returns annals.project
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.project := annals.lock_unreserved_project(project_id);
  new_row annals.project;
begin
  if old_row.placement_epoch = epoch and (old_row.is_moving or old_row.placement in ('sealed', 'gone')) then
    return old_row;
  end if;
  if annals.is_restored(project_id) then
    raise object_not_in_prerequisite_state using message = format('project %s is a restored archive, which stays', project_id);
  end if;
  insert into annals.feed_horizon (project_id) values (project_id) on conflict do nothing;
  perform annals.await_removal(project_id);
  update annals.project as p set is_moving = true, placement_epoch = epoch
  where p.id = project_id and p.placement = 'here' and p.placement_epoch < epoch returning * into new_row;
  if not found then
    raise object_not_in_prerequisite_state using
      message = format('project %s is %s in the epoch %s', project_id, old_row.placement, old_row.placement_epoch),
      constraint = 'project_placement_epoch', schema = 'annals', table = 'project';
  end if;
  perform annals.record_change('annals.project.move', old_row, new_row, null, null, jsonb_build_object('database', database));
  return new_row;
end $$;

-- The last sequence id of a feed, and the size and root of its log.
create or replace function annals.feed_end(project_id uuid, out head bigint, out log_size bigint, out log_root bytea)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select
    coalesce((select s.last_sequence_id from annals.feed_segment as s where s.project_id = $1 order by s.first_sequence_id desc limit 1), 0),
    coalesce((select l.size from annals.merkle_log as l where l.project_id = $1), 0),
    annals.tree_root(coalesce((select l.frontier from annals.merkle_log as l where l.project_id = $1), ''))
$$;

-- From its commit on, nothing of the project changes here. It waits for the transactions that hold a row or the feed's lock: set
-- lock_timeout.
create or replace function annals.seal_project(
  project_id uuid, database text, epoch bigint, out head bigint, out log_size bigint, out log_root bytea)
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.project;
  new_row annals.project;
begin
  perform annals.lock_state(project_id, '');
  old_row := annals.lock_moving(project_id, epoch, '{here,sealed}');
  -- Those that were inserted before it was locked. One that is locked may belong to a writer who waits for the project: seal later.
  perform annals.lock_state(project_id, 'and xmax <> pg_current_xact_id()::xid', 'nowait');
  if old_row.placement = 'here' then
    if not old_row.is_moving then
      raise object_not_in_prerequisite_state using
        message = format('the move of project %s in the epoch %s was cancelled', project_id, epoch),
        constraint = 'project_placement_epoch', schema = 'annals', table = 'project';
    end if;
    perform annals.rename_native_sequences(project_id, '', '_sealed');
    -- Deliveries in progress end with an older epoch.
    update annals.stream_progress as p set epoch = p.epoch + 1, leased_by = null, leased_until = null
    where p.project_id = project_id and p.stream_id in (select s.id from annals.stream as s where s.project_id = project_id);
    update annals.project as p set placement = 'sealed', moved_to = database where p.id = project_id returning * into new_row;
    select * into head, log_size, log_root from annals.feed_end(project_id);
    perform annals.record_change('annals.project.seal', old_row, new_row, null, null, jsonb_build_object(
      'database', database, 'last_sequence_id', head,
      'tree', jsonb_build_object('size', log_size, 'root', encode(log_root, 'base64'))));
  else
    select * into head, log_size, log_root from annals.feed_end(project_id);
  end if;
end $$;

-- Locks what may change of a project besides its feed, in the order of writers, who hold a sequence when they wait for the project.
create or replace function annals.lock_state(project_id uuid, more text, wait text default '') returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  locked text;
begin
  for locked in
    select name from annals.moved_tables()
    -- Rows of an archive never change, and dead letters only with their progress, which is locked.
    where way in ('state', 'derived')
      and name not in ('verification', 'daily_count', 'daily_total', 'search_block', 'term', 'archive', 'stream_dead_letter')
    order by name <> 'sequence', number
  loop
    execute format('select from annals.%I where %s %s for update %s', locked, annals.of_project(locked), more, wait) using project_id;
  end loop;
end $$;

-- PostgreSQL's own sequences know no seal: under another name they are not drawn from.
create or replace function annals.rename_native_sequences(project_id uuid, from_suffix text, to_suffix text) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  native text;
begin
  for native in select annals.native_sequence_name(s.id) from annals.sequence as s where s.project_id = project_id loop
    if to_regclass(native || from_suffix) is not null then
      execute format('alter sequence %s rename to %I', native || from_suffix, split_part(native, '.', 2) || to_suffix);
    end if;
  end loop;
end $$;

-- What no table of moved_tables() has: the policies of the project, and the values of PostgreSQL's own sequences.
create or replace function annals.moved_rest(project_id uuid) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC'
as $$
#variable_conflict use_variable
declare
  native  jsonb := '[]';
  moved   record;
  value   record;
begin
  for moved in
    select s.id, coalesce(to_regclass(annals.native_sequence_name(s.id) || '_sealed'), to_regclass(annals.native_sequence_name(s.id)))
      as sequence
    from annals.sequence as s where s.project_id = project_id order by s.id
  loop
    if moved.sequence is not null then
      execute format('select last_value, is_called from %s', moved.sequence) into value;
      native := native || jsonb_build_object('id', moved.id, 'last_value', value.last_value, 'is_called', value.is_called);
    end if;
  end loop;
  return jsonb_build_object('native', native, 'project', (
    select jsonb_build_object('closed_at', p.closed_at, 'retention_days', p.retention_days, 'archive_required', p.archive_required,
      'limits', p.limits)
    from annals.project as p where p.id = project_id));
end $$;

-- The columns of a table's primary key, as they are and as they are compared: texts by their bytes, whatever the database's collation.
create or replace function annals.moved_key(table_name text, out names text, out compared text, out columns text[], out types text[])
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select string_agg(format('%I', a.attname), ', ' order by k.position),
    string_agg(format('%I', a.attname) || case when a.attcollation <> 0 then ' collate "C"' else '' end, ', ' order by k.position),
    array_agg(a.attname::text order by k.position), array_agg(format_type(a.atttypid, a.atttypmod) order by k.position)
  from pg_constraint as c cross join lateral unnest(c.conkey) with ordinality as k (number, position)
  join pg_attribute as a on a.attrelid = c.conrelid and a.attnum = k.number
  where c.conrelid = to_regclass(format('annals.%I', $1)) and c.contype = 'p'
$$;

-- The condition of a project's rows behind one key and up to another one; null: to the end.
create or replace function annals.moved_range(project_id uuid, table_name text, after jsonb, through jsonb) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
declare
  condition  text := annals.of_project(table_name, quote_literal(project_id));
  bounds     text;
begin
  perform from annals.moved_tables() as t where t.name = table_name and (t.way = 'state' or t.name = 'redaction');
  if not found then
    raise insufficient_privilege using message = format('rows of annals.%s do not move like this', table_name);
  end if;
  -- The usual whole table needs no look at the catalogue.
  if num_nonnulls(after, through) > 0 then
    select string_agg(format('(%s) %s (%s)', key.compared, bound.operator, (
      select string_agg(format('%L::%s', bound.key ->> k.name, k.type), ', ' order by k.at)
      from unnest(key.columns, key.types) with ordinality as k (name, type, at))), ' and ') into bounds
    from annals.moved_key(table_name) as key, (values ('>', after), ('<=', through)) as bound (operator, key)
    where bound.key is not null;
  end if;
  return concat_ws(' and ', condition, bounds);
end $$;

-- The key of the last of the next rows; null if the table ends before.
create or replace function annals.moved_page(project_id uuid, table_name text, after jsonb, most integer) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  key      record;
  through  jsonb;
begin
  select * into key from annals.moved_key(table_name);
  execute format('select to_jsonb(k) from (select %s from annals.%I where %s order by %s offset %s limit 1) as k',
    key.names, table_name, annals.moved_range(project_id, table_name, after, null), key.compared, most - 1) into through;
  return through;
end $$;

create or replace function annals.moved_rows(project_id uuid, table_name text, after jsonb, through jsonb) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC'
as $$
declare
  rows jsonb;
begin
  execute format('select coalesce(jsonb_agg(to_jsonb(r)), ''[]'') from annals.%I as r where %s', table_name,
    annals.moved_range(project_id, table_name, after, through)) into rows;
  return rows;
end $$;

-- The number of rows, and the sum of their hashes.
create or replace function annals.moved_digest(project_id uuid, table_name text, after jsonb default null, through jsonb default null)
returns text
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set timezone = 'UTC' set datestyle = 'ISO, YMD' set bytea_output = 'hex'
as $$
declare
  digest text;
begin
  execute format('select concat_ws('' '', count(*), sum((''x'' || encode(substr(sha256(convert_to(r::text, ''UTF8'')), 1, 8), ''hex''))::bit(64)::bigint))
    from annals.%I as r where %s', table_name, annals.moved_range(project_id, table_name, after, through)) into digest;
  return digest;
end $$;

-- A digest of all that moves, by its parts. Under the seal it is the same on both sides. Records and tiles only follow each other, so the
-- last ones stand for all; the mover has compared the records with the tree.
create or replace function annals.moved_digests(project_id uuid) returns jsonb
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select jsonb_object_agg(part.name, part.digest)
  from (
    select t.name, annals.moved_digest($1, t.name) as digest from annals.moved_tables() as t where t.way = 'state' or t.name = 'redaction'
    union all
    select 'rest', encode(sha256(convert_to(annals.moved_rest($1)::text, 'UTF8')), 'hex')
    union all
    select 'feed', coalesce((select concat_ws(' ', s.first_sequence_id, s.last_sequence_id, s.append_id, s.mark) from annals.feed_segment as s
      where s.project_id = $1 order by s.first_sequence_id desc limit 1), '')
    union all
    select 'tree', concat_ws(' ', (select max(s.tile) from annals.merkle_seed as s where s.project_id = $1), (
      select string_agg((select max(t.tile) from annals.merkle_tile as t where t.project_id = $1 and t.level = of.level)::text, ' ' order by of.level)
      from generate_series(0, 7) as of (level)))) as part
$$;

-- The source no longer has the project, and keeps its copy.
create or replace function annals.leave_project(project_id uuid, epoch bigint) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.project := annals.lock_moving(project_id, epoch, '{sealed,gone}');
  new_row annals.project;
begin
  if old_row.placement = 'sealed' then
    update annals.project as p set placement = 'gone', is_moving = false where p.id = project_id returning * into new_row;
    perform annals.record_change('annals.project.leave', old_row, new_row, null, null);
  end if;
end $$;

-- The project stays here, sealed or not. A seal of this epoch comes too late.
create or replace function annals.stay_here(project_id uuid, epoch bigint) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.project := annals.lock_unreserved_project(project_id);
  new_row annals.project;
  setting text;
begin
  -- A move that was never begun here, or one that has stayed.
  if old_row.placement_epoch < epoch then
    update annals.project as p set placement_epoch = epoch where p.id = project_id and p.placement = 'here' returning * into new_row;
  elsif old_row.placement_epoch = epoch and old_row.is_moving and old_row.placement in ('here', 'sealed') then
    setting := set_config('annals.moving_project', project_id::text, true);
    perform annals.rename_native_sequences(project_id, '_sealed', '');
    update annals.project as p set placement = 'here', moved_to = null, is_moving = false where p.id = project_id returning * into new_row;
  end if;
  if new_row.id is not null then
    perform annals.record_change('annals.project.stay', old_row, new_row, null, null);
  end if;
end $$;

-- --- The target ------------------------------------------------------------------------------------------------------------

-- Makes the project in the target, with its name in home. A copy that it left here must have been removed. From now on, what another
-- mover has read before is refused: see lock_arriving().
drop function if exists annals.arrive_project(jsonb, text, bigint);
create or replace function annals.arrive_project(
  project_id uuid, name text, project jsonb, database text, epoch bigint, mover uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  given    annals.project := jsonb_populate_record(null::annals.project, project);
  old_row  annals.project;
  new_row  annals.project;
begin
  given.id := project_id;
  given.name := name;
  select * into old_row from annals.project as p where p.id = given.id for update;
  if old_row.placement in ('arriving', 'here') and old_row.placement_epoch = epoch then
    perform annals.become_mover(project_id, mover);
    return;
  elsif old_row.id is not null and (old_row.placement <> 'gone' or old_row.placement_epoch >= epoch) then
    raise object_not_in_prerequisite_state using
      message = format('project %s is %s here in the epoch %s', given.id, old_row.placement, old_row.placement_epoch),
      constraint = 'project_placement_epoch', schema = 'annals', table = 'project';
  elsif exists (select from annals.feed_segment as s where s.project_id = given.id) then
    raise object_not_in_prerequisite_state using
      message = format('this database keeps a copy of project %s', given.id),
      constraint = 'project_copy', schema = 'annals', table = 'project',
      hint = format('As the owner of the schema: select annals.remove_left(%L, 10000), until it returns 0.', given.id);
  end if;
  perform annals.free_name(given);
  insert into annals.project as p (
    id, name, created_at, closed_at, retention_days, archive_required, limits, placement, placement_epoch, moved_to)
  values (
    given.id, given.name, given.created_at, given.closed_at, given.retention_days, given.archive_required, given.limits,
    'arriving', epoch, database)
  on conflict on constraint project_pkey do update
  set placement = 'arriving', placement_epoch = epoch, moved_to = database
  returning * into new_row;
  perform annals.record_change('annals.project.arrive', old_row, new_row, null, null);
  perform annals.become_mover(project_id, mover);
end $$;

create or replace function annals.become_mover(project_id uuid, mover uuid) returns void
language sql set search_path = pg_catalog, pg_temp
as $$
  insert into annals.arrival (project_id, mover) values ($1, $2)
  on conflict on constraint arrival_pkey do update set mover = excluded.mover
$$;

-- As lock_moving(), for the last mover alone. One that was frozen since could replace what the next mover has brought by what it read
-- before. The session of a mover has the setting.
create or replace function annals.lock_arriving(project_id uuid, epoch bigint) returns annals.project
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  project annals.project := annals.lock_moving(project_id, epoch, '{arriving}');
begin
  if not exists (
      select from annals.arrival as a where a.project_id = project_id and a.mover::text = current_setting('annals.mover', true)) then
    raise object_not_in_prerequisite_state using message = format('another mover goes on with the move of project %s', project_id);
  end if;
  return project;
end $$;

-- A project that has left may have another name since, and one that comes may have its old name.
create or replace function annals.free_name(project annals.project) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  old_row annals.project;
  new_row annals.project;
begin
  select * into old_row from annals.project as p where p.name = project.name and p.id <> project.id and p.placement = 'gone' for update;
  if found then
    update annals.project as p set name = p.id::text where p.id = old_row.id returning * into new_row;
    perform annals.record_change('annals.project.rename', old_row, new_row, null, null);
  end if;
end $$;

-- Makes tables for records and appends of the session, which take_places() reads. Nothing that a source sends is inserted elsewhere at once.
create or replace function annals.stage_arrival() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set client_min_messages = 'warning'
as $$
declare
  staged record;
begin
  for staged in
    select c.relname, string_agg(format('%I %s', a.attname, format_type(coalesce(nullif(t.typbasetype, 0), t.oid), null)), ', ' order by a.attnum) as columns
    from pg_class as c join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    join pg_type as t on t.oid = a.atttypid
    where c.oid in ('annals.append'::regclass, 'annals.audit_record'::regclass)
    group by c.relname
  loop
    execute format('create temp table if not exists %I (%s) on commit delete rows', 'arriving_' || staged.relname, staged.columns);
    execute format('grant insert on pg_temp.%I to annals_service', 'arriving_' || staged.relname);
  end loop;
end $$;

-- Takes the next places with their marks, and their appends and records from the tables of stage_arrival(), which must have no others. The
-- first place of a feed whose beginning has expired is its horizon.
create or replace function annals.take_places(
  project_id uuid, epoch bigint, append_id uuid[], first bigint[], last bigint[], mark integer[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_variable
declare
  project  annals.project := annals.lock_arriving(project_id, epoch);
  next     bigint;
  ids      uuid[];
  taken    bigint;
  staged   bigint;
begin
  select s.last_sequence_id + 1 into next from annals.feed_segment as s
  where s.project_id = project_id order by s.first_sequence_id desc limit 1;
  next := coalesce(next, greatest(annals.horizon(project_id), 1));
  for i in 1 .. cardinality(first) loop
    if first[i] <> next or last[i] < first[i] then
      raise data_exception using
        message = format('project %s goes on with the place %s, and not with %s', project_id, next, first[i]);
    end if;
    next := last[i] + 1;
  end loop;
  -- A service could have made others, with code of its own.
  if (select count(*) from pg_class as c where c.oid in (to_regclass('pg_temp.arriving_append'), to_regclass('pg_temp.arriving_audit_record'))
      and c.relkind = 'r' and c.relowner = current_user::regrole) <> 2 then
    raise object_not_in_prerequisite_state using message = 'stage_arrival() has made no tables in this session';
  end if;
  insert into annals.feed_segment (project_id, append_id, first_sequence_id, last_sequence_id, mark)
  select project_id, a, f, l, m from unnest(append_id, first, last, mark) as t (a, f, l, m);
  -- = any (array) is hashed if the plan is made for its values. A join would be a loop in a loop: see the settings of the mover's sessions.
  insert into annals.append (project_id, id, shared_append_id, record_ids)
  select s.project_id, s.id, s.shared_append_id, s.record_ids
  from pg_temp.arriving_append as s where s.project_id = project_id and s.id = any (append_id);
  get diagnostics taken = row_count;
  staged := (select count(*) from pg_temp.arriving_append);
  if taken <> staged or exists (
      select from unnest(append_id, first, last) as t (a, f, l)
      left join annals.append as a on a.project_id = project_id and a.id = t.a
      where coalesce(cardinality(a.record_ids), 1) <> t.l - t.f + 1) then
    raise data_exception using message = format('%s of %s appends are of project %s, and these do not fill its next places', taken, staged,
      project_id);
  end if;
  ids := array(
    select unnest(coalesce(a.record_ids, array[t.a]))
    from unnest(append_id) as t (a) left join annals.append as a on a.project_id = project_id and a.id = t.a);
  insert into annals.audit_record (
    project_id, id, placed_with, "timestamp", recorded_at, action, actor_type, actor_id, actor_name, subject_type, subject_id,
    subject_name, outcome, ip_address, message, metadata, number_sequence, number_value, recorded_by_token, recorded_by_role)
  select
    r.project_id, r.id, r.placed_with, r."timestamp", r.recorded_at, r.action, r.actor_type, r.actor_id, r.actor_name, r.subject_type,
    r.subject_id, r.subject_name, r.outcome, r.ip_address, r.message, r.metadata, r.number_sequence, r.number_value, r.recorded_by_token,
    r.recorded_by_role
  from pg_temp.arriving_audit_record as r
  where r.project_id = project_id and r.id = any (ids) and r.placed_with is not null;
  get diagnostics taken = row_count;
  staged := (select count(*) from pg_temp.arriving_audit_record);
  if taken <> staged then
    raise data_exception using message = format('%s of %s records are of project %s and its next places', taken, staged, project_id);
  end if;
end $$;

-- Takes the next redactions, in their order, each with what its record has since: {number, record_id, fields, event_id, redaction}.
-- The record may have expired.
create or replace function annals.take_redactions(project_id uuid, epoch bigint, redactions jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  project  annals.project := annals.lock_arriving(project_id, epoch);
  taken    annals.redaction;
  given    jsonb;
begin
  for given in select value from jsonb_array_elements(redactions) loop
    taken := jsonb_populate_record(null::annals.redaction, given);
    if taken.number <> coalesce((select max(r.number) from annals.redaction as r where r.project_id = project_id), 0) + 1 then
      raise data_exception using message = format('redaction %s of project %s is not the next', taken.number, project_id);
    end if;
    insert into annals.redaction (project_id, number, record_id, fields, event_id)
    values (project_id, taken.number, taken.record_id, taken.fields, taken.event_id);
    update annals.audit_record as r set
      actor_type   = case when 'actor.type'   = any (taken.fields) then null else r.actor_type end,
      actor_id     = case when 'actor.id'     = any (taken.fields) then null else r.actor_id end,
      actor_name   = case when 'actor.name'   = any (taken.fields) then null else r.actor_name end,
      subject_type = case when 'subject.type' = any (taken.fields) then null else r.subject_type end,
      subject_id   = case when 'subject.id'   = any (taken.fields) then null else r.subject_id end,
      subject_name = case when 'subject.name' = any (taken.fields) then null else r.subject_name end,
      outcome      = case when 'outcome'      = any (taken.fields) then null else r.outcome end,
      ip_address   = case when 'ip_address'   = any (taken.fields) then null else r.ip_address end,
      message      = case when 'message'      = any (taken.fields) then null else r.message end,
      metadata     = case when 'metadata'     = any (taken.fields) then null else r.metadata end,
      redaction    = given -> 'redaction'
    where r.project_id = project_id and r.id = taken.record_id;
  end loop;
end $$;

-- Takes tiles and seeds of the log. A seed changes with a redaction.
create or replace function annals.take_tree(project_id uuid, epoch bigint, tiles jsonb, seeds jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  project annals.project := annals.lock_arriving(project_id, epoch);
begin
  insert into annals.merkle_tile select * from jsonb_populate_recordset(null::annals.merkle_tile, tiles) as t
  where t.project_id = project_id on conflict do nothing;
  insert into annals.merkle_seed as s select * from jsonb_populate_recordset(null::annals.merkle_seed, seeds) as t
  where t.project_id = project_id
  on conflict on constraint merkle_seed_pkey do update set seed = excluded.seed where s.seed <> excluded.seed;
end $$;

-- The states of a table's rows as the administration's events have them, by their keys.
create or replace function annals.moved_states(table_name text, condition text) returns jsonb
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  states jsonb;
begin
  execute format('select coalesce(jsonb_object_agg(coalesce(j ->> ''id'', j ->> ''role_name'', j ->> ''name'', j ->> ''project_id''), annals.state(r)), ''{}'')
    from annals.%I as r cross join lateral to_jsonb(r) as j where %s', table_name, condition) into states;
  return states;
end $$;

-- Leaves the events of a difference between states.
create or replace function annals.record_moved_rows(kind text, before jsonb, after jsonb) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  either  jsonb;
  key     text;
begin
  for key in select k from jsonb_object_keys(before || after) as k where before -> k is distinct from after -> k order by k loop
    either := coalesce(after -> key, before -> key);
    perform annals.record_event(format('annals.%s.%s', kind, case when after ? key then 'arrive' else 'leave' end),
      replace(kind, 'writer', 'role'), coalesce(either ->> 'id', either ->> 'role_name', either ->> 'project_id'), either ->> 'name',
      jsonb_build_object('before', before -> key, 'after', after -> key), null, null);
  end loop;
end $$;

-- The tables of the project's state, and the other parts, that differ from what moved_digests() returned in the source.
create or replace function annals.moved_differences(project_id uuid, digests jsonb, out tables text[], out parts text[])
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  -- Computed once, not for each name.
  with own as materialized (select annals.moved_digests($1) as digests)
  select
    array(select t.name from annals.moved_tables() as t
      where t.way = 'state' and own.digests -> t.name is distinct from $2 -> t.name order by t.number),
    array(select part.name from jsonb_object_keys(own.digests || $2) as part (name)
      where own.digests -> part.name is distinct from $2 -> part.name order by part.name)
  from own
$$;

-- Makes the rows of a range the same as in the source, and leaves an event for each row that has any.
create or replace function annals.take_rows(
  project_id uuid, epoch bigint, table_name text, after jsonb, through jsonb, rows jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC'
as $$
#variable_conflict use_variable
declare
  project  annals.project := annals.lock_arriving(project_id, epoch);
  moved    record;
  key      record;
  range    text;
  stale    text;
  columns  text;
  excluded text;
  before   jsonb;
  has_name boolean;
  count    bigint;
begin
  select * into strict moved from annals.moved_tables() as t where t.way = 'state' and t.name = table_name;
  select * into key from annals.moved_key(table_name);
  range := annals.moved_range(project_id, table_name, after, through);
  execute format('select count(*) from jsonb_populate_recordset(null::annals.%I, $1) where %s', table_name, range) into count using rows;
  if count <> jsonb_array_length(rows) then
    raise data_exception using message = format('%s of %s rows of annals.%s are of project %s and its next page', count,
      jsonb_array_length(rows), table_name, project_id);
  end if;
  stale := format('(%s and (%s) not in (select %s from jsonb_populate_recordset(null::annals.%I, $1)))', range, key.names, key.names, table_name);
  has_name := moved.kind in ('stream', 'alert', 'view') or table_name = 'sequence';
  if has_name then
    -- Names that another row has now.
    stale := stale || format(' or project_id = %L and name in (select g.name from jsonb_populate_recordset(null::annals.%I, $1) as g where g.id <> r.id)',
      project_id, table_name);
  end if;
  if moved.kind is not null then
    before := annals.moved_states(table_name, range);
  end if;
  execute format('select count(*) from annals.%I as r where %s', table_name, stale) into count using rows;
  -- A statement that finds no rows would run the triggers that permit none.
  if count > 0 then
    if moved.kind is not null and has_name then
      execute format('select $2 || coalesce(jsonb_object_agg(r.id, annals.state(r)), ''{}'') from annals.%I as r where %s', table_name, stale)
        into before using rows, before;
    end if;
    update annals.project as p set is_moving = false where p.id = project_id;
    execute format('delete from annals.%I as r where %s', table_name, stale) using rows;
  end if;
  select string_agg(format('%I', a.attname), ', ' order by a.attnum), string_agg(format('excluded.%I', a.attname), ', ' order by a.attnum)
  into columns, excluded
  from pg_attribute as a where a.attrelid = to_regclass(format('annals.%I', table_name)) and a.attnum > 0 and not a.attisdropped;
  execute format('insert into annals.%I as r select * from jsonb_populate_recordset(null::annals.%I, $1) on conflict (%s) do ', table_name,
      table_name, key.names)
    -- Its triggers refuse an update, and its rows never change.
    || case when table_name = 'archive' then 'nothing'
      else format('update set (%s) = row (%s) where %s and r is distinct from excluded', columns, excluded,
        -- A series has the key of its sequence, of which the range has seen the project.
        case when table_name = 'sequence_series' then 'true' else format('r.project_id = %L', project_id) end) end
  using rows;
  execute format('select count(*) from annals.%I where %s', table_name, range) into count;
  if count <> jsonb_array_length(rows) then
    raise data_exception using
      message = format('rows of annals.%s of project %s have the ids of other rows here', table_name, project_id);
  end if;
  if moved.kind is not null then
    perform annals.record_moved_rows(moved.kind, before, annals.moved_states(table_name, range));
  end if;
  if table_name = 'writer_grant' then
    perform annals.admit_writers(project_id);
  end if;
end $$;

-- A grant opens the project to members of annals_writer alone. Memberships belong to the cluster of the source.
create or replace function annals.admit_writers(project_id uuid) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  role_name text;
begin
  for role_name in
    select w.role_name from annals.writer_grant as w join pg_roles as r on r.rolname = w.role_name
    where w.project_id = project_id and r.rolname !~ '^(pg_|annals_service$)' and not pg_has_role(r.oid, 'annals_writer', 'usage')
  loop
    begin
      execute format('grant annals_writer to %I', role_name);
    exception when insufficient_privilege then
      raise insufficient_privilege using
        message = format('role %I, which may write to project %s, is no member of annals_writer here', role_name, project_id),
        hint = format('As an administrator of this server: grant annals_writer to %I; the move then goes on.', role_name);
    end;
  end loop;
end $$;

-- Notes how many records have the hashes that the source's log has, and the tree of these. The next mover goes on there.
create or replace function annals.note_checked(project_id uuid, epoch bigint, checked bigint, frontier bytea) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  project annals.project := annals.lock_arriving(project_id, epoch);
begin
  update annals.arrival as a set checked = checked, frontier = frontier where a.project_id = project_id;
end $$;

-- Takes the name in home, and what moved_rest() returned in the source.
create or replace function annals.take_rest(project_id uuid, epoch bigint, name text, rest jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC'
as $$
#variable_conflict use_variable
declare
  old_row  annals.project := annals.lock_arriving(project_id, epoch);
  new_row  annals.project := jsonb_populate_record(old_row, (rest -> 'project') || jsonb_build_object('id', project_id, 'name', name));
begin
  perform annals.free_name(new_row);
  update annals.project as p set name = new_row.name, closed_at = new_row.closed_at, retention_days = new_row.retention_days,
    archive_required = new_row.archive_required, limits = new_row.limits
  where p.id = project_id and (p.name, p.closed_at, p.retention_days, p.archive_required, p.limits)
    is distinct from (new_row.name, new_row.closed_at, new_row.retention_days, new_row.archive_required, new_row.limits)
  returning * into new_row;
  if found then
    perform annals.record_change('annals.project.arrive', old_row, new_row, null, null);
  end if;
  perform setval(to_regclass(annals.native_sequence_name(s.id)), (native ->> 'last_value')::bigint, (native ->> 'is_called')::boolean)
  from jsonb_array_elements(rest -> 'native') as native
  join annals.sequence as s on s.id = (native ->> 'id')::uuid and s.project_id = project_id;
  insert into annals.projection_checkpoint as c (project_id, projection, sequence_id, generation, mark)
  select project_id, p.name, l.size, p.generation, annals.projection_mark(p.name)
  from annals.projection as p join annals.merkle_log as l on l.project_id = project_id where p.name = 'log'
  on conflict on constraint projection_checkpoint_pkey do update set sequence_id = excluded.sequence_id;
end $$;

-- From its commit on, the target has the project. The database that signs its log is this one. digests: of moved_digests(), by which
-- the move was decided; a target that has lost something since has others.
drop function if exists annals.open_project(uuid, bigint);
create or replace function annals.open_project(project_id uuid, epoch bigint, digests jsonb, pauses_streams boolean) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.project := annals.lock_moving(project_id, epoch, '{arriving,here}');
  new_row annals.project;
  feed    record;
  old_stream annals.stream;
  new_stream annals.stream;
begin
  if old_row.placement = 'here' then
    return;
  end if;
  if annals.moved_digests(project_id) <> digests then
    raise data_exception using message = format('the copy of project %s differs from what has left the source in: %s', project_id,
      array_to_string((annals.moved_differences(project_id, digests)).parts, ', '));
  end if;
  delete from annals.arrival as a where a.project_id = project_id;
  update annals.merkle_log as l set incarnation = annals.incarnation() where l.project_id = project_id and l.incarnation is not null;
  update annals.project as p set placement = 'here', moved_to = null where p.id = project_id returning * into new_row;
  select * into feed from annals.feed_end(project_id);
  perform annals.record_change('annals.project.open', old_row, new_row, null, null, jsonb_build_object(
    'last_sequence_id', feed.head, 'tree', jsonb_build_object('size', feed.log_size, 'root', encode(feed.log_root, 'base64'))));
  for old_stream in
    select * from annals.stream as s where pauses_streams and s.project_id = project_id and s.paused_at is null order by s.id for update
  loop
    update annals.stream as s set paused_at = clock_timestamp(), pause_reason = format(
      'The stream came from the database %s, which is not trusted. Resume it if its sink is one for this database.', old_row.moved_to)
    where s.id = old_stream.id returning * into new_stream;
    perform annals.record_change('annals.stream.pause', old_stream, new_stream, null, null);
  end loop;
end $$;

-- The name of this database: see lock_log_to_sign.sql.
create or replace function annals.incarnation() returns text
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select concat_ws('/',
    (select system_identifier from pg_control_system()),
    left(pg_walfile_name(pg_current_wal_lsn()), 8),
    (select oid from pg_database where datname = current_database()))
$$;

-- --- Copies that are removed ---------------------------------------------------------------------------------------------

-- Whether this transaction removes a copy of the project: the triggers permit it.
create or replace function annals.is_removing(project_id uuid) returns boolean
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select exists (select from annals.project as p
    where p.id = $1 and p.placement in ('arriving', 'gone') and p.xmin = pg_current_xact_id()::xid)
$$;

-- Permits the removal of rows of copies alone. A statement of remove_copy() may find no rows.
create or replace function annals.refuse_removal_here() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (select from annals.project where placement in ('arriving', 'gone') and xmin = pg_current_xact_id()::xid)
      or exists (select from gone where not annals.is_removing(gone.project_id)) then
    raise restrict_violation using
      message = format('%s refused: %I.%I is append-only', tg_op, tg_table_schema, tg_table_name);
  end if;
  return null;
end $$;

-- Removes the newest places of a copy with their records; with the last ones, all that the database has of the project but its row and its
-- writers. Returns how many places it has removed.
create or replace function annals.remove_copy(project_id uuid, most integer) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  append_ids  uuid[];
  record_ids  uuid[];
  moved       record;
  before      jsonb;
begin
  update annals.project as p set is_moving = false where p.id = project_id;
  append_ids := array(select s.append_id from annals.feed_segment as s where s.project_id = project_id
    order by s.first_sequence_id desc limit most);
  record_ids := array(
    select unnest(a.record_ids) from annals.append as a where a.project_id = project_id and a.id = any (append_ids)) || append_ids;
  delete from annals.audit_record as r where r.project_id = project_id and r.id = any (record_ids);
  delete from annals.feed_segment as s where s.project_id = project_id and s.append_id = any (append_ids);
  delete from annals.append as a where a.project_id = project_id and a.id = any (append_ids);
  if cardinality(append_ids) = 0 then
    -- Its writers stay: they are told where the project is.
    for moved in
      select * from annals.moved_tables() where way in ('feed', 'tree', 'state', 'derived') and name <> 'writer_grant' order by number desc
    loop
      before := case when moved.kind is not null then annals.moved_states(moved.name, annals.of_project(moved.name, quote_literal(project_id))) end;
      execute format('delete from annals.%I where %s', moved.name, annals.of_project(moved.name)) using project_id;
      if before is not null then
        perform annals.record_moved_rows(moved.kind, before, '{}');
      end if;
    end loop;
  end if;
  return cardinality(append_ids);
end $$;

-- Removes a copy that was left here, in steps, until it returns 0. Only the schema's owner may: no service removes records that were
-- placed here.
create or replace function annals.remove_left(project_id uuid, most integer) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  project annals.project;
begin
  select * into project from annals.project as p where p.id = project_id;
  project := annals.lock_moving(project_id, project.placement_epoch, '{gone}');
  return annals.remove_copy(project_id, most);
end $$;

-- Removes what has arrived by a move up to this epoch that was cancelled, in steps, until it returns 0. The project is gone then.
create or replace function annals.discard_arrival(project_id uuid, epoch bigint, most integer) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row  annals.project;
  new_row  annals.project;
  removed  bigint;
begin
  select * into old_row from annals.project as p where p.id = project_id;
  if old_row.placement is distinct from 'arriving' or old_row.placement_epoch > epoch then
    return 0;
  end if;
  old_row := annals.lock_moving(project_id, old_row.placement_epoch, '{arriving}');
  -- A mover that was frozen adds nothing more.
  delete from annals.arrival as a where a.project_id = project_id;
  removed := annals.remove_copy(project_id, most);
  if removed = 0 then
    update annals.project as p set placement = 'gone' where p.id = project_id returning * into new_row;
    perform annals.record_change('annals.project.leave', old_row, new_row, null, null);
  end if;
  return removed;
end $$;

-- --- Home ------------------------------------------------------------------------------------------------------------------

-- Begins a move. home, source and target are names of databases. The row of the project in home says where it is.
create or replace function annals.start_move(
  id uuid, project_id uuid, home text, target text, actor_token uuid default null, address inet default inet_client_addr()) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  project  annals.project;
  made     annals.move;
begin
  perform annals.require_administrator(actor_token);
  project := annals.lock_unreserved_project(project_id);
  if exists (select from annals.move as m where m.project_id = project_id and m.ended_at is null) then
    raise object_not_in_prerequisite_state using
      message = format('project %s is moving already', project_id),
      constraint = 'move_one', schema = 'annals', table = 'move';
  end if;
  insert into annals.move (id, project_id, source, target, epoch, state)
  values (id, project_id, coalesce(project.moved_to, home), target,
    1 + greatest(project.placement_epoch, (select max(m.epoch) from annals.move as m where m.project_id = project_id)), 'copying')
  returning * into made;
  perform annals.record_event('annals.move.start', 'move', id::text, project.name, to_jsonb(made), actor_token, address);
end $$;

-- Makes an instance the mover until the lease ends, unless the move has ended.
create or replace function annals.lease_move(id uuid, instance uuid, seconds integer) returns annals.move
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  known annals.move;
begin
  update annals.move as m set leased_by = instance, leased_until = clock_timestamp() + make_interval(secs => seconds)
  where m.id = id and m.ended_at is null and (m.leased_by = instance or coalesce(m.leased_until < clock_timestamp(), true))
  returning * into known;
  if not found then
    select * into known from annals.move as m where m.id = id;
    if known.ended_at is null then
      raise object_in_use using message = format('there is no move %s, or another instance carries it until %s', id, known.leased_until);
    end if;
  end if;
  return known;
end $$;

create or replace function annals.release_move(id uuid, instance uuid) returns void
language sql security definer set search_path = pg_catalog, pg_temp
as $$
  update annals.move as m set leased_by = null, leased_until = null where m.id = $1 and m.leased_by = $2
$$;

create or replace function annals.note_move(id uuid, copied bigint, error text) returns void
language sql security definer set search_path = pg_catalog, pg_temp
as $$
  update annals.move as m set copied = coalesce($2, m.copied), last_error = left($3, 1024) where m.id = $1
$$;

-- Until the move is switched. Returns whether the move is cancelled.
create or replace function annals.cancel_move(
  id uuid, actor_token uuid default null, address inet default inet_client_addr()) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  known annals.move;
begin
  perform annals.require_administrator(actor_token);
  update annals.move as m set state = 'cancelling' where m.id = id and m.state = 'copying' returning * into known;
  if found then
    perform annals.record_event('annals.move.cancel', 'move', id::text, null, to_jsonb(known), actor_token, address);
  end if;
  return exists (select from annals.move as m where m.id = id and m.state in ('cancelling', 'cancelled'));
end $$;

-- Decides the move, and where the project is: the only decision. Returns whether it is decided so.
drop function if exists annals.switch_move(uuid, text, bigint, bigint, bytea);
create or replace function annals.switch_move(
  id uuid, home text, head bigint, log_size bigint, log_root bytea, digests jsonb) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  known    annals.move;
  old_row  annals.project;
  new_row  annals.project;
begin
  update annals.move as m set state = 'switched', head = head, log_size = log_size, log_root = log_root, digests = digests,
    switched_at = clock_timestamp()
  where m.id = id and m.state = 'copying' returning * into known;
  if found then
    if known.source = home then
      perform annals.leave_project(known.project_id, known.epoch);
    elsif known.target <> home then
      select * into old_row from annals.project as p where p.id = known.project_id for update;
      update annals.project as p set moved_to = known.target, placement_epoch = known.epoch
      where p.id = known.project_id and p.placement = 'gone' and p.placement_epoch < known.epoch returning * into new_row;
      if not found then
        raise object_not_in_prerequisite_state using
          message = format('project %s is %s in home, in the epoch %s', known.project_id, old_row.placement, old_row.placement_epoch);
      end if;
      perform annals.record_change('annals.project.leave', old_row, new_row, null, null);
    end if;
    perform annals.record_event('annals.move.switch', 'move', id::text, null, to_jsonb(known), null, null);
  end if;
  return exists (select from annals.move as m where m.id = id and m.state in ('switched', 'done'));
end $$;

-- Ends a move in one of these states.
create or replace function annals.end_move_in(id uuid, states text[], action text) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  known annals.move;
begin
  update annals.move as m
  set state = case m.state when 'switched' then 'done' else 'cancelled' end, ended_at = clock_timestamp(), leased_by = null, leased_until = null
  where m.id = id and m.state = any (states) returning * into known;
  if found then
    perform annals.record_event(action, 'move', id::text, null, to_jsonb(known), null, null);
  end if;
end $$;

create or replace function annals.end_move(id uuid) returns void
language sql security definer set search_path = pg_catalog, pg_temp
as $$
  select annals.end_move_in($1, '{switched,cancelling}', 'annals.move.end')
$$;
