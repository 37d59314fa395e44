-- Archives: files outside the database with the oldest records of a feed. A database can also hold the records of archives that were
-- restored to be read.

-- Notes that a file has the records from the first unarchived one up to another. The caller has checked the file. A repetition is accepted.
-- Archives follow one another without a gap, except expired records, and do not overlap.
create or replace function annals.note_archive(
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
  -- One at a time, and not during a removal.
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
  perform annals.record_change('annals.archive.note', null, known, actor_token, address);
  return id;
end $$;

-- Whether the records of a project have to be in an archive before they are removed.
create or replace function annals.require_archive(
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
  -- Removals in progress end before this is in force.
  perform annals.await_removal(project_id);
  if old_row.archive_required = required then
    return;
  end if;
  update annals.project as p set archive_required = required where p.id = project_id returning * into new_row;
  perform annals.record_change('annals.project.retain', old_row, new_row, actor_token, address);
end $$;

-- Whether records of a project would be removed now if an archive had them.
create or replace function annals.awaits_archive(project_id uuid) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select p.archive_required and p.retention_days is not null and annals.expired_through(p.id, 1) is null
    and annals.expired_through(p.id, 1, true) is not null
  from annals.project as p where p.id = $1
$$;

create or replace function annals.is_restored(project_id uuid) returns boolean
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select exists (select from annals.restored_archive where restored_archive.project_id = $1)
$$;

-- Begins to restore an archive. The caller inserts the records in their order in the same transaction, and finishes it. No trigger has to be
-- off: the first record follows the place before it. before: when the first record was recorded.
create or replace function annals.begin_restored_archive(project_id uuid, name text, first_sequence_id bigint, before timestamptz)
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
    insert into annals.feed_horizon (project_id, sequence_id, record_id, recorded_before)
    values (project_id, first_sequence_id - 1, gen_random_uuid(), before);
    insert into annals.feed_segment (project_id, append_id, first_sequence_id, last_sequence_id)
    values (project_id, gen_random_uuid(), first_sequence_id - 1, first_sequence_id - 1);
  end if;
end $$;

-- Places the records and seals the copy. files: where it comes from, for the administration's feed.
create or replace function annals.finish_restored_archive(
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
