-- Retention: the oldest records of a feed go once they are older than their project says. What goes is always the beginning of
-- the feed, in whole appends. The triggers let pass only what annals.remove_expired() removes, and that follows the project's row
-- and the database's clock, whoever calls it.

-- Up to where the records of a feed are gone. The place at the horizon stays, with the id and the mark of its record, so that
-- sequence ids never begin again, and a reader who has come exactly this far goes on. A row is made with the first policy, and
-- never goes.
create table annals.feed_horizon (
  project_id       uuid        not null,
  sequence_id      bigint      not null default 0,
  -- All that went was recorded before then.
  recorded_before  timestamptz,
  -- The entries of the log (see docs/leaf-format.md) for those that went of a tile that was not full by then. Those of full tiles
  -- are in merkle_tile.
  entries          bytea       not null default '',
  constraint feed_horizon_pkey primary key (project_id),
  constraint feed_horizon_project_fkey foreign key (project_id) references annals.project (id),
  constraint feed_horizon_range check (sequence_id >= 0 and (sequence_id = 0 or recorded_before is not null)),
  constraint feed_horizon_entries check (octet_length(entries) in (0, sequence_id % 256 * 32))
) with (fillfactor = 50); -- room for the next version of a row on its own page
alter table annals.feed_horizon alter column entries set storage external;

-- 0 where nothing went.
create function annals.horizon(project_id uuid) returns bigint
language sql stable
return coalesce((select sequence_id from annals.feed_horizon where feed_horizon.project_id = $1), 0);

create function annals.refuse_rewound_horizon() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  raise restrict_violation using
    message = format('%s refused: the horizon of project %s never goes back', tg_op, old.project_id);
end $$;
create trigger refuse_rewound_horizon before update on annals.feed_horizon
  for each row
  when (new.project_id <> old.project_id or new.sequence_id < old.sequence_id)
  execute function annals.refuse_rewound_horizon();
create trigger refuse_forgotten_horizon before delete on annals.feed_horizon
  for each row
  execute function annals.refuse_rewound_horizon();
create trigger append_only before truncate on annals.feed_horizon
  for each statement execute function annals.refuse_change();

-- Lets records, appends and segments go that are behind the horizon, as this very transaction has set it.
create function annals.refuse_other_removal() returns trigger
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
    -- Their segments have gone before them.
    permitted := not exists (
      select from gone
      where not exists (
          select from annals.feed_horizon as horizon
          where horizon.project_id = gone.project_id and horizon.xmin = pg_current_xact_id()::xid)
        or exists (
          select from annals.feed_segment as segment
          where segment.project_id = gone.project_id and segment.append_id = gone.id));
  end if;
  if not permitted then
    raise restrict_violation using
      message = format('%s refused: %I.%I is append-only', tg_op, tg_table_schema, tg_table_name),
      hint = 'Records go by the retention of their project alone.';
  end if;
  return null;
end $$;

create trigger append_only_but_retention after delete on annals.audit_record
  referencing old table as gone
  for each statement execute function annals.refuse_other_removal();
create trigger append_only_but_retention after delete on annals.append
  referencing old table as gone
  for each statement execute function annals.refuse_other_removal();
create trigger append_only_but_retention after delete on annals.feed_segment
  referencing old table as gone
  for each statement execute function annals.refuse_other_removal();

-- For how many days a project keeps its records; null: for ever. What goes comes back only from a backup.
create function annals.set_retention(
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
  insert into annals.feed_horizon (project_id) values (project_id) on conflict do nothing;
  -- What is being removed by the old policy is gone before the new one is in force.
  perform annals.await_removal(project_id);
  if old_row.retention_days is not distinct from retention_days then
    return;
  end if;
  update annals.project as p set retention_days = retention_days where p.id = project_id returning * into new_row;
  perform annals.record_project_change('annals.project.retain', old_row, new_row, actor_token, address);
end $$;

-- Waits for a removal that is under way, and keeps the next one off until the transaction ends. Whoever forbids removals calls
-- this, and then is seen by the next one.
create function annals.await_removal(project_id uuid) returns void
language sql set search_path = pg_catalog, pg_temp
as $$
  select from annals.feed_horizon where feed_horizon.project_id = $1 for update
$$;

-- The root of a tree, from the hashes that stand for it: one for each bit of its size, the largest first.
create function annals.tree_root(frontier bytea) returns bytea
language plpgsql immutable set search_path = pg_catalog, pg_temp
as $$
declare
  root bytea := sha256('');
begin
  for at in reverse octet_length(frontier) / 32 - 1 .. 0 loop
    root := case when at = octet_length(frontier) / 32 - 1 then substr(frontier, at * 32 + 1)
      else sha256(E'\\x01' || substr(frontier, at * 32 + 1, 32) || root) end;
  end loop;
  return root;
end $$;

-- What stands in a tree for up to 255 entries that begin a tile.
create function annals.begun_frontier(entries bytea) returns bytea
language plpgsql immutable set search_path = pg_catalog, pg_temp
as $$
declare
  frontier  bytea := '';
  hashes    bytea[];
  first     integer := 0;
begin
  for height in reverse 7 .. 0 loop
    continue when (octet_length(entries) / 32 >> height) % 2 = 0;
    hashes := array(
      select sha256(E'\\x00' || substr(entries, n * 32 + 1, 32)) from generate_series(first, first + (1 << height) - 1) as n
      order by n);
    while cardinality(hashes) > 1 loop
      hashes := array(
        select sha256(E'\\x01' || hashes[n] || hashes[n + 1]) from generate_series(1, cardinality(hashes), 2) as n order by n);
    end loop;
    frontier := frontier || hashes[1];
    first := first + (1 << height);
  end loop;
  return frontier;
end $$;

-- Before when records of a project may have been recorded to go; null where it keeps them.
create function annals.retained_from(project_id uuid) returns timestamptz
language sql stable
return (
  select statement_timestamp() - make_interval(hours => 24 * retention_days) from annals.project where id = $1);

-- Up to where records of a project may go now: the end of an append, all of whose records, and those of all before it, are older
-- than the policy says. At most so many more than are gone, or one append. Null: none.
--
-- What is derived from records has to have been derived by then: the log has their entries, and the counts have counted them. And
-- where the project requires it, they are in an archive (see V16); unless what is asked is what else may go.
create function annals.expired_through(project_id uuid, most integer, unarchived boolean default false) returns bigint
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
  if cutoff is null or annals.is_held(project_id) then
    return null;
  end if;
  select least(log.size, case when checkpoint.generation < projection.generation then log.size else checkpoint.sequence_id end)
  into derived
  from annals.merkle_log as log
  join annals.projection_checkpoint as checkpoint
    on checkpoint.project_id = log.project_id and checkpoint.projection = 'statistics'
  join annals.projection on projection.name = checkpoint.projection
  -- What is halted is evidence.
  where log.project_id = project_id and log.halted is null;
  -- (Null stays null: the loop ends at once.)
  if derived is not null and not unarchived
      and (select p.archive_required from annals.project as p where p.id = project_id) then
    derived := least(derived, annals.archived_through(project_id));
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

-- Takes records out of the counts by day that are about to go. Where a day has more combinations than it may have, it admits no
-- others in the place of those that go: all records of a combination are counted under it, or all among the further ones.
create function annals.uncount(project_id uuid, ids uuid[]) returns void
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

-- Removes the oldest records of a project that its policy lets go, at most so many or one append, with what is derived from them and
-- what their salts follow from; and appends the event that says so. (The block of the search index that they share with others
-- is left to the caller.) What stays of them are the entries of the log, from which nothing can be guessed any more.
--
--   most     from 1 to 10,000
--   entries  of the log's tile that is not full: those of all its records. The frontier tells whether they are the right ones.
--            Null where they are not known
--   removed  how many records went
--   needs_entries  nothing was done, because entries are needed
--   horizon  up to where records are gone now
create function annals.remove_expired(
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
  -- From here on neither the policy nor a hold changes until this is done: see await_removal().
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

  -- The triggers let go what this says.
  update annals.feed_horizon as h
  set sequence_id = through, recorded_before = greatest(h.recorded_before, cutoff), entries = begun
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
  values (project_id, ids[cardinality(ids)], through, through, last_place.mark);

  delete from annals.search_block as b where b.project_id = project_id and (b.block + 1) * 1024 <= through;
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
      -- The same, since the entries stay: whoever has kept the root sees that nothing else was touched.
      'before', jsonb_build_object('oldest_sequence_id', through - removed + 1, 'tree', tree),
      'after', jsonb_build_object('oldest_sequence_id', through + 1, 'tree', tree)),
    null, null);
end $$;
