-- Order. A record gets its place in its project's feed when its transaction commits, so that sequence ids follow
-- commit order and a reader that has seen n has seen all below n.
--
--   insert into audit_record ──┬─ an append of one (append_id = id) ────────────┐
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
  -- What the records carry as append_id, where that is not this append's own id (see shared_append_id()).
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
  -- The next segment always begins at head + 1. So a transaction that computes its place from an outdated head collides
  -- here, whatever the sizes of the segments are; a key on last_sequence_id would let overlapping segments pass.
  constraint feed_segment_pkey primary key (project_id, first_sequence_id),
  constraint feed_segment_append_key unique (project_id, append_id)
  -- No check of the range: place_segment() alone writes here, and a check is parsed anew for every commit.
);

-- The lock of a project's feed, in the key space of pg_advisory_xact_lock(bigint).
create function annals.feed_lock(project_id uuid) returns bigint
language sql immutable parallel safe
return uuid_hash_extended(project_id, 4702111234474983745); -- 'AAAAAAAA' as a number: any constant does

-- Gathers the records of one plain SQL statement into appends, and notes their projects for place_segment().
-- The service gathers its own.
create function annals.gather_append() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  unplaced text := coalesce(current_setting('annals.unplaced_projects', true), '');
  gathered text;
begin
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
  if gathered is not null then
    perform set_config('annals.unplaced_projects', concat_ws(',', nullif(unplaced, ''), gathered), true);
  end if;
  return null;
end $$;

create trigger gather_append
  after insert on annals.audit_record
  referencing new table as inserted
  for each statement
  when (current_user <> 'annals_service')
  execute function annals.gather_append();

-- Runs at commit, once an append.
create function annals.place_segment() returns trigger
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
    for lock_key in
      select distinct annals.feed_lock(project_id::uuid) from unnest(string_to_array(unplaced, ',')) as project_id order by 1
    loop
      perform pg_advisory_xact_lock(lock_key);
    end loop;
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

create constraint trigger place_segment
  after insert on annals.audit_record
  deferrable initially deferred
  for each row when (new.append_id = new.id)
  execute function annals.place_segment();

create constraint trigger place_segment
  after insert on annals.append
  deferrable initially deferred
  for each row
  execute function annals.place_segment();
