-- Databases that were restored or promoted, and projects of which databases say different things.
--
-- incarnation() tells a restored or promoted database by its name; a copy of its files, by the end of the administration's feed that the
-- others have noted. Until admit() has compared its projects, place_segment() refuses their records. Projects that contradict are
-- suspended: sealed, and not moving. annals reconcile decides about them.

-- Whether a feed has a place with this mark, as far as it has not expired.
create or replace function annals.has_place(project_id uuid, sequence_id bigint, mark integer) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select $2 <= coalesce(annals.horizon($1), 0) or exists (
    select from (
      select * from annals.feed_segment as s where s.project_id = $1 and s.first_sequence_id <= $2
      order by s.first_sequence_id desc limit 1) as s
    where s.last_sequence_id >= $2 and s.mark = $3)
$$;

-- This database now. Nulls for the incarnation and whether it is admitted on a hot standby.
create or replace function annals.database_state(
  out id uuid, out incarnation text, out admitted boolean, out head bigint, out mark integer, out log_size bigint, out log_root bytea)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
begin
  id := annals.administration();
  if not pg_is_in_recovery() then
    incarnation := annals.incarnation();
    admitted := exists (select from annals.admission as a where a.incarnation = database_state.incarnation);
  end if;
  select s.last_sequence_id, s.mark into head, mark from annals.feed_segment as s
  where s.project_id = database_state.id order by s.first_sequence_id desc limit 1;
  head := coalesce(head, 0);
  mark := coalesce(mark, 0);
  select e.log_size, e.log_root into log_size, log_root from annals.feed_end(id) as e;
end $$;

-- Notes the end of another database.
create or replace function annals.note_end(
  id uuid, incarnation text, head bigint, mark integer, log_size bigint, log_root bytea) returns void
language sql security definer set search_path = pg_catalog, pg_temp
as $$
  insert into annals.database_end as e (id, incarnation, head, mark, log_size, log_root)
  values ($1, $2, $3, $4, $5, $6)
  on conflict on constraint database_end_pkey do update
  set incarnation = $2, head = $3, mark = $4, log_size = $5, log_root = $6, noted_at = clock_timestamp()
$$;

-- What other databases say that contradicts this one.
--
-- claims  [{project_id, database, epoch, decided, proven}]: the project is, or was, in the database in this epoch. decided: in this epoch
--         no other has it. proven: home says it, or has begun this move
create or replace function annals.counter_claims(own text, claims jsonb)
  returns table (project_id uuid, database text, epoch bigint, decided boolean, proven boolean)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select c.* from jsonb_to_recordset(claims) as c (project_id uuid, database text, epoch bigint, decided boolean, proven boolean)
  join annals.project as p on p.id = c.project_id
  where p.placement = 'here' and p.name <> 'annals'
    and (c.epoch > p.placement_epoch or c.epoch = p.placement_epoch and c.decided and c.database <> own)
$$;

-- The mark of a place, null if the feed has none there or it has expired.
create or replace function annals.mark_at(project_id uuid, sequence_id bigint) returns integer
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select s.mark from (
    select * from annals.feed_segment as s where s.project_id = $1 and s.first_sequence_id <= $2
    order by s.first_sequence_id desc limit 1) as s
  where s.last_sequence_id >= $2
$$;

-- Compares the projects that are here with what other databases say, suspends those that contradict, and admits this incarnation.
-- Returns the suspended ones. Read the others before: a project that moved meanwhile contradicts nothing.
--
-- A claim that is not proven counts only if the member has the last place of the copy here: its owner may write any row.
--
-- claims    as of counter_claims()
-- marks     [{project_id, database, mark}]: what such members have at the last place of the copy here
-- set_back  whether this database lacks what another has noted of it
create or replace function annals.admit(own text, claims jsonb, marks jsonb, set_back boolean) returns uuid[]
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  suspended  uuid[] := '{}';
  before     annals.admission := (select a from annals.admission as a);
  claim      record;
  old_row    annals.project;
  new_row    annals.project;
begin
  for claim in
    select c.project_id, c.database, c.epoch, c.decided
    from annals.counter_claims(own, claims) as c
    where c.proven or exists (
      select from jsonb_to_recordset(marks) as m (project_id uuid, database text, mark integer)
      where m.project_id = c.project_id and m.database = c.database
        and m.mark = annals.mark_at(c.project_id, (select e.head from annals.feed_end(c.project_id) as e)))
    order by c.project_id, c.epoch desc, c.decided desc
  loop
    select * into old_row from annals.project as p where p.id = claim.project_id for update;
    if old_row.placement = 'here' and (
        claim.epoch > old_row.placement_epoch
        or claim.epoch = old_row.placement_epoch and claim.decided and claim.database <> own) then
      perform annals.rename_native_sequences(claim.project_id, '', '_sealed');
      update annals.project as p set placement = 'sealed', is_moving = false, moved_to = claim.database
      where p.id = claim.project_id returning * into new_row;
      perform annals.record_change('annals.project.suspend', old_row, new_row, null, null,
        jsonb_build_object('claim', to_jsonb(claim) - 'project_id'));
      suspended := suspended || claim.project_id;
    end if;
  end loop;
  insert into annals.admission (incarnation) values (annals.incarnation())
  on conflict on constraint admission_pkey do update set incarnation = excluded.incarnation, admitted_at = clock_timestamp();
  -- A member may say at each look that it has noted what this database lacks.
  if before.incarnation <> annals.incarnation() or cardinality(suspended) > 0
      or set_back and before.admitted_at < clock_timestamp() - interval '1 minute' then
    perform annals.record_event('annals.database.return', 'database', annals.administration()::text, own, jsonb_build_object(
      'incarnation', jsonb_build_object('before', before.incarnation, 'after', annals.incarnation()), 'set_back', set_back,
      'suspended', cardinality(suspended)), null, null);
  end if;
  return suspended;
end $$;

-- --- annals reconcile: as the schema's owner alone ---------------------------------------------------------------------------

-- Locks a project of which annals reconcile has read this state.
create or replace function annals.lock_read(project_id uuid, placement text, epoch bigint) returns annals.project
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  project  annals.project;
  setting  text;
begin
  select * into project from annals.project as p where p.id = project_id for update;
  if project.placement is distinct from placement or project.placement_epoch <> epoch then
    raise object_not_in_prerequisite_state using
      message = format('project %s has changed: it is %s in the epoch %s', project_id, project.placement, project.placement_epoch),
      constraint = 'project_placement_epoch', schema = 'annals', table = 'project', hint = 'Run annals reconcile again.';
  end if;
  setting := set_config('annals.moving_project', project_id::text, true);
  return project;
end $$;

-- The project is here from now on. A log that may lack what another database has signed signs no more.
create or replace function annals.place_project(
  project_id uuid, placement text, epoch bigint, new_epoch bigint, halts boolean) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row  annals.project := annals.lock_read(project_id, placement, epoch);
  new_row  annals.project;
  feed     record;
begin
  perform annals.rename_native_sequences(project_id, '_sealed', '');
  update annals.project as p set placement = 'here', placement_epoch = new_epoch, moved_to = null, is_moving = false
  where p.id = project_id returning * into new_row;
  if halts then
    update annals.merkle_log as l set halted = 'the project was placed here again, and the newest notes may be lost'
    where l.project_id = project_id and l.checkpoint is not null and l.halted is null;
  elsif placement = 'arriving' then
    update annals.merkle_log as l set incarnation = annals.incarnation() where l.project_id = project_id and l.incarnation is not null;
  end if;
  select * into feed from annals.feed_end(project_id);
  perform annals.record_change('annals.project.place', old_row, new_row, null, null, jsonb_build_object(
    'last_sequence_id', feed.head, 'tree', jsonb_build_object('size', feed.log_size, 'root', encode(feed.log_root, 'base64'))));
end $$;

-- Another database has the project. A copy with records that the other lacks is suspended; otherwise it is gone.
create or replace function annals.yield_project(
  project_id uuid, placement text, epoch bigint, new_epoch bigint, database text, suspends boolean) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row  annals.project := annals.lock_read(project_id, placement, epoch);
  new_row  annals.project;
begin
  if placement = 'here' then
    perform annals.rename_native_sequences(project_id, '', '_sealed');
  end if;
  update annals.project as p
  set placement = case when suspends then 'sealed' else 'gone' end, placement_epoch = new_epoch, moved_to = database, is_moving = false
  where p.id = project_id returning * into new_row;
  perform annals.record_change(
    case when suspends then 'annals.project.suspend' else 'annals.project.leave' end, old_row, new_row, null, null);
end $$;

-- Home takes over a project that it does not know.
create or replace function annals.adopt_project(project jsonb, database text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  given    annals.project := jsonb_populate_record(null::annals.project, project);
  made     annals.project;
begin
  perform annals.free_name(given);
  insert into annals.project (id, name, created_at, closed_at, retention_days, archive_required, limits, placement, placement_epoch, moved_to)
  values (given.id, given.name, given.created_at, given.closed_at, given.retention_days, given.archive_required, given.limits,
    'gone', given.placement_epoch, database)
  returning * into made;
  perform annals.record_change('annals.project.create', null, made, null, null);
end $$;

-- Ends a move that cannot go on.
create or replace function annals.abandon_move(id uuid) returns void
language sql security definer set search_path = pg_catalog, pg_temp
as $$
  select annals.end_move_in($1, '{copying,switched,cancelling}', 'annals.move.abandon')
$$;
