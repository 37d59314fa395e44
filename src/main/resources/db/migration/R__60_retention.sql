-- Retention removes the oldest records of a feed once they are older than the project's policy says, in whole appends. The triggers
-- permit only what remove_expired() removes, which follows the project's row and the database's clock.

-- The records of a project up to this one are in archives, except those that expired before; 0: none.
create or replace function annals.archived_through(project_id uuid) returns bigint
language sql stable
return coalesce(
  (select last_sequence_id from annals.archive where archive.project_id = $1 order by last_sequence_id desc limit 1), 0);

-- The records of a project up to this one are in the store of a stream that is an archive, in archives, or have expired; 0: none.
create or replace function annals.delivered_through(project_id uuid) returns bigint
language sql stable
return coalesce((
  select max(p.archived_through) from annals.stream as s
  join annals.stream_progress as p on p.stream_id = s.id
  where s.archive and p.project_id = $1), 0);

-- 0 if nothing was removed.
create or replace function annals.horizon(project_id uuid) returns bigint
language sql stable
return coalesce((select sequence_id from annals.feed_horizon where feed_horizon.project_id = $1), 0);

create or replace function annals.refuse_rewound_horizon() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  raise restrict_violation using
    message = format('%s refused: the horizon of project %s never goes back', tg_op, old.project_id);
end $$;

-- Permits the removal of records, appends and segments behind the horizon that this transaction has set, and that of copies.
create or replace function annals.refuse_other_removal() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  permitted boolean;
begin
  permitted := exists (select from annals.feed_horizon where xmin = pg_current_xact_id()::xid);
  if permitted and tg_table_name = 'audit_record' then
    permitted := not exists (
      select from gone
      where not exists (
        select from annals.feed_horizon as horizon
        where horizon.project_id = gone.project_id and horizon.xmin = pg_current_xact_id()::xid
          and gone.recorded_at < horizon.recorded_before));
  elsif permitted and tg_table_name = 'feed_segment' then
    permitted := not exists (
      select from gone
      where not exists (
        select from annals.feed_horizon as horizon
        where horizon.project_id = gone.project_id and horizon.xmin = pg_current_xact_id()::xid
          and gone.last_sequence_id <= horizon.sequence_id));
  elsif permitted then
    -- Their segments are deleted before them.
    permitted := not exists (
      select from gone
      where not exists (
          select from annals.feed_horizon as horizon
          where horizon.project_id = gone.project_id and horizon.xmin = pg_current_xact_id()::xid)
        or exists (
          select from annals.feed_segment as segment
          where segment.project_id = gone.project_id and segment.append_id = gone.id));
  end if;
  -- A statement of remove_copy() may find no rows.
  permitted := permitted or exists (
      select from annals.project where placement in ('arriving', 'gone') and xmin = pg_current_xact_id()::xid)
    and not exists (select from gone where not annals.is_removing(gone.project_id));
  if not permitted then
    raise restrict_violation using
      message = format('%s refused: %I.%I is append-only', tg_op, tg_table_schema, tg_table_name),
      hint = 'Records go by the retention of their project alone.';
  end if;
  return null;
end $$;

-- Waits for a removal in progress, and keeps the next one off until the transaction ends. The next one then sees its changes.
create or replace function annals.await_removal(project_id uuid) returns void
language sql set search_path = pg_catalog, pg_temp
as $$
  select from annals.feed_horizon where feed_horizon.project_id = $1 for update
$$;

-- For how many days a project keeps its records; null: for ever. Removed records come back only from a backup.
create or replace function annals.set_retention(
  project_id uuid, retention_days integer, actor_token uuid default null, address inet default inet_client_addr())
  returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.project;
  new_row annals.project;
begin
  perform annals.require_administrator(actor_token);
  old_row := annals.lock_unreserved_project(project_id);
  if old_row.placement = 'here' then
    insert into annals.feed_horizon (project_id) values (project_id) on conflict do nothing;
    -- Removals by the old policy end before the new one is in force.
    perform annals.await_removal(project_id);
  end if;
  if old_row.retention_days is not distinct from retention_days then
    return;
  end if;
  update annals.project as p set retention_days = retention_days where p.id = project_id returning * into new_row;
  perform annals.record_change('annals.project.retain', old_row, new_row, actor_token, address);
end $$;

-- Records from before this time may be removed; null if the project keeps them.
create or replace function annals.retained_from(project_id uuid) returns timestamptz
language sql stable
return (
  select statement_timestamp() - make_interval(hours => 24 * retention_days) from annals.project where id = $1);

-- The end of the last append that may be removed now: all its records and those before are older than the policy says. At most so many
-- records, or one append. Null: none. The log and the counts must have processed them, and the archive must have them if the project
-- requires it, unless unarchived asks for what an archive would permit.
create or replace function annals.expired_through(project_id uuid, most integer, unarchived boolean default false) returns bigint
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  horizon  bigint := annals.horizon(project_id);
  cutoff   timestamptz := annals.retained_from(project_id);
  derived  bigint;
  segment  record;
  through  bigint;
begin
  if cutoff is null or annals.is_held(project_id)
      or exists (select from annals.project as p where p.id = project_id and (p.is_moving or p.placement <> 'here')) then
    return null;
  end if;
  select least(log.size, case when checkpoint.generation < projection.generation then log.size else checkpoint.sequence_id end)
  into derived
  from annals.merkle_log as log
  join annals.projection_checkpoint as checkpoint
    on checkpoint.project_id = log.project_id and checkpoint.projection = 'statistics'
  join annals.projection on projection.name = checkpoint.projection
  -- A halted log is evidence.
  where log.project_id = project_id and log.halted is null;
  -- (Null stays null: the loop ends at once.)
  if derived is not null and not unarchived
      and (select p.archive_required from annals.project as p where p.id = project_id) then
    derived := least(derived, greatest(annals.archived_through(project_id), annals.delivered_through(project_id)));
  end if;
  for segment in
    select s.last_sequence_id, (
        select max(r.recorded_at) from annals.audit_record as r
        where r.project_id = project_id and r.id = any (coalesce(
          (select a.record_ids from annals.append as a where a.project_id = project_id and a.id = s.append_id),
          array[s.append_id]))) as recorded_at
    from annals.feed_segment as s
    where s.project_id = project_id and s.first_sequence_id > horizon
    order by s.first_sequence_id
  loop
    exit when segment.recorded_at is null or segment.recorded_at >= cutoff or segment.last_sequence_id > derived
      or derived is null or through is not null and segment.last_sequence_id > horizon + most;
    through := segment.last_sequence_id;
  end loop;
  return through;
end $$;

-- Takes records that are about to be removed out of the counts by day. A day with too many combinations admits no others in their place: a
-- combination is counted by itself for all its records or for none.
create or replace function annals.uncount(project_id uuid, ids uuid[]) returns void
language sql set search_path = pg_catalog, pg_temp
as $$
  with combination as materialized (
    select counted.by_actor, (r."timestamp" at time zone 'UTC')::date as day,
      annals.combination_key(
        r.action, case when counted.by_actor then coalesce(r.actor_id, r.actor_name) end, r.outcome) as key,
      count(*) as record_count
    from annals.audit_record as r
    cross join (values (false), (true)) as counted (by_actor)
    where r.project_id = $1 and r.id = any ($2)
    group by 1, 2, 3
  ), counted as materialized (
    select combination.by_actor, combination.day, coalesce(c.key, annals.combination_key(null, null, null)) as key,
      sum(combination.record_count) as record_count
    from combination
    left join annals.daily_count as c
      on c.project_id = $1 and c.by_actor = combination.by_actor and c.day = combination.day and c.key = combination.key
    group by 1, 2, 3
  ), reduced as (
    update annals.daily_count as c
    set record_count = c.record_count - counted.record_count
    from counted
    where c.project_id = $1 and c.by_actor = counted.by_actor and c.day = counted.day and c.key = counted.key
      and c.record_count > counted.record_count
  ), removed as (
    delete from annals.daily_count as c
    using counted
    where c.project_id = $1 and c.by_actor = counted.by_actor and c.day = counted.day and c.key = counted.key
      and c.record_count <= counted.record_count
    returning c.by_actor, c.day, c.action
  ), kind as materialized (
    select by_actor, day, sum(record_count) as record_count,
      case
        when exists (
          select from annals.daily_count as c
          where c.project_id = $1 and c.by_actor = counted.by_actor and c.day = counted.day
            and c.key = annals.combination_key(null, null, null))
        then 0
        else (
          select count(*) from removed
          where removed.by_actor = counted.by_actor and removed.day = counted.day and removed.action is not null)
      end as combination_count
    from counted
    group by by_actor, day
  ), day as materialized (
    select day, max(record_count) as record_count,
      max(combination_count) filter (where not by_actor) as combination_count,
      max(combination_count) filter (where by_actor) as actor_combination_count
    from kind
    group by day
  ), lessened as (
    update annals.daily_total as t
    set record_count = t.record_count - day.record_count,
      combination_count = t.combination_count - day.combination_count,
      actor_combination_count = t.actor_combination_count - day.actor_combination_count
    from day
    where t.project_id = $1 and t.day = day.day and t.record_count > day.record_count
  )
  delete from annals.daily_total as t
  using day
  where t.project_id = $1 and t.day = day.day and t.record_count <= day.record_count
$$;

-- Removes the oldest expired records of a project, at most so many or one append, with what was derived from them and the seeds of their
-- salts, and appends the event. The caller corrects the block of the search index that they share with others. The entries of the log
-- stay, from which nothing can be guessed.
--
--   most           from 1 to 10,000
--   entries        the entries of all records in the log's incomplete tile, checked against the frontier; null if unknown
--   removed        the number of records removed
--   needs_entries  nothing was done, because entries are needed
--   horizon        the last sequence id that is removed
create or replace function annals.remove_expired(
  project_id uuid, most integer, entries bytea, out removed bigint, out needs_entries boolean, out horizon bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC'
as $$
#variable_conflict use_variable
declare
  cutoff      timestamptz;
  through     bigint;
  log         annals.merkle_log;
  begun       bytea := '';
  ids         uuid[];
  last_place  annals.feed_segment;
  append_ids  uuid[];
  gone        record;
  tree        jsonb;
begin
  removed := 0;
  needs_entries := false;
  if current_setting('transaction_isolation') <> 'read committed' then
    -- An older snapshot may have an older policy.
    raise feature_not_supported using message = 'records expire at the isolation level READ COMMITTED only';
  end if;
  perform from annals.projection_checkpoint as c where c.project_id = project_id order by c.projection for update;
  select h.sequence_id into horizon from annals.feed_horizon as h where h.project_id = project_id for update;
  -- From here on neither policy nor holds change until the end: see await_removal().
  through := annals.expired_through(project_id, least(greatest(most, 1), 10000));
  if through is null then
    return;
  end if;
  cutoff := annals.retained_from(project_id);

  select * into log from annals.merkle_log as l where l.project_id = project_id;
  if through > log.size / 256 * 256 and through % 256 <> 0 then
    if entries is null then
      needs_entries := true;
      return;
    end if;
    begun := annals.begun_frontier(entries);
    if octet_length(entries) <> log.size % 256 * 32
        or substr(log.frontier, octet_length(log.frontier) - octet_length(begun) + 1) <> begun then
      raise data_exception using
        message = format('these are not the entries of the last %s records of project %s', log.size % 256, project_id);
    end if;
    begun := substr(entries, 1, (through % 256 * 32)::integer);
  end if;

  ids := array(select p.record_id from annals.places(project_id, horizon + 1, through) as p order by p.sequence_id);
  if not exists (
      select from annals.projection_checkpoint as c
      join annals.projection as p on p.name = c.projection
      where c.project_id = project_id and c.projection = 'statistics' and c.generation < p.generation) then
    perform annals.uncount(project_id, ids);
  end if;

  -- The triggers permit what this says.
  update annals.feed_horizon as h
  set sequence_id = through, record_id = ids[cardinality(ids)], recorded_before = greatest(h.recorded_before, cutoff), entries = begun
  where h.project_id = project_id;
  with deleted as (
    delete from annals.audit_record as r where r.project_id = project_id and r.id = any (ids)
    returning r.recorded_at
  )
  select count(*) as count, min(recorded_at) as first, max(recorded_at) as last into gone from deleted;
  if gone.count <> through - horizon or gone.last >= cutoff then
    raise data_exception using
      message = format('the records %s to %s of project %s are not %s records from before %s',
        horizon + 1, through, project_id, through - horizon, cutoff);
  end if;
  select * into last_place from annals.feed_segment as s
  where s.project_id = project_id and s.first_sequence_id <= through order by s.first_sequence_id desc limit 1;
  with deleted as (
    delete from annals.feed_segment as s where s.project_id = project_id and s.first_sequence_id <= through
    returning s.append_id
  )
  select array_agg(append_id) into append_ids from deleted;
  delete from annals.append as a where a.project_id = project_id and a.id = any (append_ids);
  insert into annals.feed_segment (project_id, append_id, first_sequence_id, last_sequence_id, mark)
  values (project_id, annals.sequential_guid(), through, through, last_place.mark);

  delete from annals.search_block as b where b.project_id = project_id and (b.block + 1) * 1024 <= through;
  delete from annals.term as t where t.project_id = project_id and ((t.seen + 1::bigint) * 65536 <= through
    or not exists (select from annals.search_block as b where b.project_id = t.project_id));
  delete from annals.merkle_seed as s where s.project_id = project_id and (s.tile + 1) * 256 <= through;
  if through % 256 <> 0 then
    update annals.merkle_seed as s
    set seed = overlay(annals.record_seeds(s.seed, s.tile)
      placing decode(repeat('00', (through % 256 * 32)::integer), 'hex') from 1)
    where s.project_id = project_id and s.tile = through / 256;
  end if;

  removed := gone.count;
  horizon := through;
  tree := jsonb_build_object('size', log.size, 'root', encode(annals.tree_root(log.frontier), 'base64'));
  perform annals.record_event('annals.project.expire', 'project', project_id::text,
    (select p.name from annals.project as p where p.id = project_id),
    jsonb_build_object(
      'first_sequence_id', through - removed + 1, 'last_sequence_id', through, 'count', gone.count,
      'recorded_from', gone.first, 'recorded_to', gone.last,
      'retention_days', (select p.retention_days from annals.project as p where p.id = project_id),
      -- Equal, because the entries stay: a reader that kept the root sees that nothing else changed.
      'before', jsonb_build_object('oldest_sequence_id', through - removed + 1, 'tree', tree),
      'after', jsonb_build_object('oldest_sequence_id', through + 1, 'tree', tree)),
    null, null);
end $$;
