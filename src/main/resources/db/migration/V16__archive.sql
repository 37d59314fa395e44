-- Archives: files outside the database with the oldest records of a feed, each of which proves itself. Here is noted which
-- there are. Where a project requires it, its records go only when they are in one. And a database can hold the records of
-- archives that were brought back to be read.

create table annals.archive (
  id                 uuid           not null,
  project_id         uuid           not null,
  first_sequence_id  bigint         not null,
  last_sequence_id   bigint         not null,
  -- What whoever has made the file says of it.
  file_name          varchar(255)   not null,
  bytes              bigint         not null,
  sha256             bytea          not null,
  created_at         timestamptz    not null default clock_timestamp(),
  constraint archive_pkey primary key (id),
  constraint archive_last_key unique (project_id, last_sequence_id),
  constraint archive_project_fkey foreign key (project_id) references annals.project (id),
  constraint archive_range check (first_sequence_id between 1 and last_sequence_id),
  constraint archive_file check (file_name <> '' and bytes > 0 and octet_length(sha256) = 32)
);

create trigger append_only before update or delete or truncate on annals.archive
  for each statement execute function annals.refuse_change();

create function annals.archive_state(archive annals.archive) returns jsonb
language sql stable set timezone = 'UTC'
as $$
  select jsonb_build_object('id', archive.id, 'project_id', archive.project_id, 'first_sequence_id', archive.first_sequence_id,
    'last_sequence_id', archive.last_sequence_id, 'file_name', archive.file_name, 'bytes', archive.bytes,
    'sha256', encode(archive.sha256, 'hex'), 'created_at', archive.created_at)
  where archive.id is not null
$$;

-- Up to which sequence id the records of a project are in archives, but for those that had expired before they could be; 0: none.
create function annals.archived_through(project_id uuid) returns bigint
language sql stable
return coalesce(
  (select last_sequence_id from annals.archive where archive.project_id = $1 order by last_sequence_id desc limit 1), 0);

-- Notes that a file has the records from the first that is in no archive yet up to another one. The caller has checked the file.
-- The same may be said again.
--
-- Archives follow one another without a gap, but for what has expired, and do not overlap: of two that are made at a time, one is
-- noted.
create function annals.note_archive(
  project_id uuid, id uuid, first_sequence_id bigint, last_sequence_id bigint, file_name text, bytes bigint, sha256 bytea,
  actor_token uuid default null, address inet default inet_client_addr()) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  known     annals.archive;
  archived  bigint;
  size      bigint;
begin
  perform annals.require_administrator(actor_token);
  -- One at a time, and none beside a removal.
  insert into annals.feed_horizon (project_id) values (project_id) on conflict do nothing;
  perform annals.await_removal(project_id);
  select * into known from annals.archive as a where a.project_id = project_id and a.last_sequence_id = last_sequence_id;
  if known.first_sequence_id = first_sequence_id and known.sha256 = sha256 then
    return known.id;
  end if;
  archived := annals.archived_through(project_id);
  size := coalesce((select log.size from annals.merkle_log as log where log.project_id = project_id), 0);
  if first_sequence_id <= archived or first_sequence_id > greatest(archived, annals.horizon(project_id)) + 1
      or last_sequence_id > size then
    raise object_not_in_prerequisite_state using
      message = format('the records %s to %s of project %s are not the next to be archived: those up to %s are, and its log has %s',
        first_sequence_id, last_sequence_id, project_id, archived, size),
      constraint = 'archive_next', schema = 'annals', table = 'archive';
  end if;
  insert into annals.archive (id, project_id, first_sequence_id, last_sequence_id, file_name, bytes, sha256)
  values (id, project_id, first_sequence_id, last_sequence_id, file_name, bytes, sha256)
  returning * into known;
  perform annals.record_event('annals.archive.note', 'archive', id::text, null,
    jsonb_build_object('before', null, 'after', annals.archive_state(known)), actor_token, address);
  return id;
end $$;

-- Whether the records of a project have to be in an archive before they go.
create function annals.require_archive(
  project_id uuid, required boolean, actor_token uuid default null, address inet default inet_client_addr()) returns void
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
  -- What is being removed is gone before this is in force.
  perform annals.await_removal(project_id);
  if old_row.archive_required = required then
    return;
  end if;
  update annals.project as p set archive_required = required where p.id = project_id returning * into new_row;
  perform annals.record_project_change('annals.project.retain', old_row, new_row, actor_token, address);
end $$;

-- Whether records of a project would go now if they were in an archive.
create function annals.awaits_archive(project_id uuid) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select p.archive_required and p.retention_days is not null and annals.expired_through(p.id, 1) is null
    and annals.expired_through(p.id, 1, true) is not null
  from annals.project as p where p.id = $1
$$;

-- The records of archives that were brought back: a project of a database that has no other. What is there of it is a copy, to be
-- read. Its log is halted for good, and the project takes no more records.
create table annals.restored_archive (
  project_id         uuid         not null,
  first_sequence_id  bigint       not null,
  last_sequence_id   bigint       not null,
  -- The newest of the checkpoints in the files, by which the original log has signed these records; and what leads from them to its
  -- root: the compact ranges of what comes before and behind them (see docs/leaf-format.md).
  checkpoint         text         not null,
  left_hashes        bytea        not null,
  right_hashes       bytea        not null,
  restored_at        timestamptz  not null default clock_timestamp(),
  constraint restored_archive_pkey primary key (project_id),
  constraint restored_archive_project_fkey foreign key (project_id) references annals.project (id),
  constraint restored_archive_range check (first_sequence_id between 1 and last_sequence_id)
);
-- The only one of its database.
create unique index restored_archive_one_key on annals.restored_archive ((true));

create trigger append_only before update or delete or truncate on annals.restored_archive
  for each statement execute function annals.refuse_change();

create function annals.is_restored(project_id uuid) returns boolean
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select exists (select from annals.restored_archive where restored_archive.project_id = $1)
$$;

-- A copy must never sign as if it were the original, whatever key its service has.
create function annals.refuse_resumed_archive() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (select from annals.restored_archive where project_id = new.project_id) then
    raise restrict_violation using
      message = format('project %s is a restored archive: its log stays halted', new.project_id),
      hint = 'The files of the archive prove its records: annals check.';
  end if;
  return new;
end $$;
create trigger refuse_resumed_archive before update on annals.merkle_log
  for each row when (new.halted is null and old.halted is not null)
  execute function annals.refuse_resumed_archive();

-- Whether nobody has made a project or a token in this database yet; or nothing but restored an archive.
create function annals.is_new() returns boolean
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select not exists (select from annals.access_token)
    and not exists (
      select from annals.project
      where name <> 'annals' and id not in (select project_id from annals.restored_archive))
$$;

-- Begins to restore an archive. The caller then inserts the records in their order, in the same transaction, and finishes it. No
-- trigger has to be off for that: what comes first stands behind the place before it.
--
-- before   when the first record was recorded
create function annals.begin_restored_archive(project_id uuid, name text, first_sequence_id bigint, before timestamptz)
  returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
begin
  if not annals.is_new() or exists (select from annals.restored_archive) then
    raise object_not_in_prerequisite_state using
      message = 'this database has projects or tokens, or an archive, already',
      hint = 'Restore an archive into a database of its own.';
  end if;
  perform annals.create_project(name, project_id);
  if first_sequence_id > 1 then
    insert into annals.feed_horizon (project_id, sequence_id, recorded_before) values (project_id, first_sequence_id - 1, before);
    insert into annals.feed_segment (project_id, append_id, first_sequence_id, last_sequence_id)
    values (project_id, gen_random_uuid(), first_sequence_id - 1, first_sequence_id - 1);
  end if;
end $$;

-- Places the records, and seals what was restored.
--
-- files  what the administration's feed says of where it comes from
create function annals.finish_restored_archive(
  project_id uuid, first_sequence_id bigint, last_sequence_id bigint, checkpoint text, left_hashes bytea, right_hashes bytea,
  frontier bytea, files jsonb) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
begin
  set constraints all immediate;
  insert into annals.merkle_log (project_id, size, frontier, halted)
  values (project_id, last_sequence_id, frontier,
    format('this is a copy of the records %s to %s, restored from an archive; the original log has signed them, and this copy signs '
      'nothing', first_sequence_id, last_sequence_id));
  insert into annals.projection_checkpoint (project_id, projection, sequence_id, generation)
  select project_id, p.name, last_sequence_id, p.generation from annals.projection as p where p.name = 'log';
  perform annals.close_project(project_id);
  perform annals.set_hold(project_id, annals.sequential_guid(), null, null, 'A restored archive is a copy: it stays as it is.');
  insert into annals.restored_archive (
    project_id, first_sequence_id, last_sequence_id, checkpoint, left_hashes, right_hashes)
  values (project_id, first_sequence_id, last_sequence_id, checkpoint, left_hashes, right_hashes);
  perform annals.record_event('annals.archive.restore', 'project', project_id::text,
    (select p.name from annals.project as p where p.id = project_id),
    jsonb_build_object('first_sequence_id', first_sequence_id, 'last_sequence_id', last_sequence_id, 'files', files),
    null, inet_client_addr());
end $$;
