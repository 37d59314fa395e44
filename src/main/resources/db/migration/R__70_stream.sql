-- Streams: followers of a feed, or of all feeds, that deliver records to a sink. A change of a stream leaves an event. Progress leaves
-- none: there would be one for each batch.

-- Refuses a token that has ended or lacks the scope stream, even if the service still accepts it; a revocation waits until the transaction
-- ends. Without a token, the owner or the configured admin calls. Streams of the project annals belong to administrators. links: whether
-- viewer links may call.
create or replace function annals.require_streaming(project_id uuid, actor_token uuid, links boolean default false) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
begin
  -- The service has checked a caller of a member in home.
  if annals.is_member() then
    return;
  end if;
  if annals.is_identity_id(actor_token) then
    perform from annals.identity_grant as granted
    where granted.project_id = project_id and granted.scopes && array['stream', 'admin'] and granted.revoked_at is null
      and exists (
        select from annals.identity_entry as entry
        where entry.identity_id = actor_token and entry.grant_id = granted.id)
    for share;
  elsif actor_token is not null then
    perform from annals.access_token as token
    -- A link ends with the token that made it.
    join annals.access_token as maker on maker.id = coalesce(token.issued_by, token.id)
    where token.id = actor_token and token.project_id = project_id
      and (token.scopes && array['stream', 'admin'] or links and 'deliver' = any (token.scopes))
      and token.revoked_at is null and (token.expires_at is null or token.expires_at > clock_timestamp())
      and maker.revoked_at is null and (maker.expires_at is null or maker.expires_at > clock_timestamp())
    for share;
  else
    return;
  end if;
  if not found then
    raise insufficient_privilege using
      message = format('token %s may not change streams: it has ended, or has not the scope stream', actor_token),
      constraint = 'stream_token', schema = 'annals', table = 'stream';
  end if;
end $$;

-- Whether a token is of a viewer link. A link reaches public addresses alone, and knows only the streams that links made. A member has no
-- tokens: there the service says it, and without its word each token may be a link's.
create or replace function annals.is_link(token_id uuid, by_link boolean) returns boolean
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select case
    when annals.is_member() then coalesce(by_link, token_id is not null and not annals.is_identity_id(token_id))
    else exists (select from annals.access_token as token where token.id = token_id and 'deliver' = any (token.scopes))
  end
$$;

-- Every change of an existing stream calls this first.
create or replace function annals.lock_stream(project_id uuid, name text, actor_token uuid, by_link boolean) returns annals.stream
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  known annals.stream;
begin
  perform annals.require_streaming(project_id, actor_token, true);
  select * into known from annals.stream as s where s.project_id = project_id and s.name = name for update;
  if not found or not known.only_public and annals.is_link(actor_token, by_link) then
    raise no_data_found using
      message = format('project %s has no stream %s', project_id, name),
      constraint = 'stream_known', schema = 'annals', table = 'stream';
  end if;
  return known;
end $$;

-- Makes or redefines a stream. A stopped one continues, a paused one stays paused. A delivery in progress is no longer acknowledged.
create or replace function annals.set_stream(
  project_id uuid, id uuid, name text, sink_type text, url text, secret bytea, format text, filter jsonb, on_refusal text,
  max_refusals integer, all_projects boolean, archive boolean, cursor text, most integer, actor_token uuid default null,
  address inet default inet_client_addr(), by_link boolean default null) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.stream;
  new_row annals.stream;
  only_public boolean := annals.is_link(actor_token, by_link);
  link        uuid := case when only_public then actor_token end;
  issued_by   uuid := (select token.issued_by from annals.access_token as token where token.id = link);
begin
  perform annals.require_streaming(project_id, actor_token, true);
  if all_projects then
    if project_id <> annals.administration() then
      raise insufficient_privilege using
        message = 'only streams of the project annals follow all projects',
        constraint = 'stream_all_projects', schema = 'annals', table = 'stream';
    end if;
    -- No project is created meanwhile: existing ones are found here, each later one finds the stream.
    lock table annals.project in share row exclusive mode;
  end if;
  -- One at a time in a project, so that their number is known.
  perform from annals.project as p where p.id = project_id for no key update;
  select * into old_row from annals.stream as s where s.project_id = project_id and s.name = name for update;
  if not found then
    if (select count(*) from annals.stream as s where s.project_id = project_id) >= most then
      raise program_limit_exceeded using
        message = format('project %s has %s streams, as many as it may have', project_id, most),
        constraint = 'stream_limit', schema = 'annals', table = 'stream';
    end if;
    insert into annals.stream (
      id, project_id, name, all_projects, archive, sink_type, url, only_public, link_id, link_issued_by, secret, format, filter,
      on_refusal, max_refusals)
    values (
      id, project_id, name, all_projects, archive, sink_type, url, only_public, link, issued_by, secret, format, filter, on_refusal,
      max_refusals)
    returning * into new_row;
    insert into annals.stream_progress (stream_id, project_id, cursor)
    select id, p.id, cursor from annals.project as p where all_projects or p.id = project_id;
  elsif only_public and not old_row.only_public then
    raise insufficient_privilege using
      message = format('a link cannot change stream %s', name),
      constraint = 'stream_of_operator', schema = 'annals', table = 'stream';
  else
    -- The secret is encrypted for the id that the service has seen.
    if old_row.id <> id then
      raise serialization_failure using message = format('stream %s was made anew meanwhile', name);
    end if;
    if old_row.all_projects <> all_projects then
      raise check_violation using
        message = format('stream %s follows %s', name,
          case when old_row.all_projects then 'all projects' else 'one project' end),
        constraint = 'stream_all_projects_kept', schema = 'annals', table = 'stream';
    end if;
    update annals.stream as s
    set archive = archive, sink_type = sink_type, url = url, only_public = only_public, link_id = link, link_issued_by = issued_by,
      secret = secret, format = format, filter = filter, on_refusal = on_refusal, max_refusals = max_refusals, stopped_at = null, stop_reason = null
    where s.id = id returning * into new_row;
    if annals.state(old_row) = annals.state(new_row) then
      return;
    end if;
    update annals.stream_progress as p
    set epoch = p.epoch + 1, leased_by = null, leased_until = null, failures = 0, refusals = 0, retry_at = '-infinity',
      -- Another store has none of the records yet.
      archived_through = case when old_row.archive and new_row.archive and old_row.url = new_row.url then p.archived_through else 0 end
    where p.stream_id = id;
    delete from annals.stream_death as d where d.stream_id = id;
  end if;
  perform annals.record_change('annals.stream.set', old_row, new_row, actor_token, address);
end $$;

-- From its commit on no delivery begins; one in progress may end.
create or replace function annals.pause_stream(
  project_id uuid, name text, actor_token uuid default null, address inet default inet_client_addr(), by_link boolean default null)
  returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.stream;
  new_row annals.stream;
begin
  old_row := annals.lock_stream(project_id, name, actor_token, by_link);
  if old_row.paused_at is not null then
    return;
  end if;
  update annals.stream as s set paused_at = clock_timestamp() where s.id = old_row.id returning * into new_row;
  perform annals.record_change('annals.stream.pause', old_row, new_row, actor_token, address);
end $$;

-- Pauses the streams that a link defined when that link or the token that made it has ended. A token that was rotated lives on in the one
-- that replaced it. A link's own time pauses nothing: it is a day at most, and streams are to last.
create or replace function annals.pause_streams_of(ended annals.access_token, actor_token uuid, address inet) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  old_row annals.stream;
  new_row annals.stream;
begin
  for old_row in
    select * from annals.stream as s
    where s.project_id = ended.project_id and s.link_id is not null and s.paused_at is null
      and (s.link_id = ended.id or ended.id in (
        with recursive maker (id) as (
          select s.link_issued_by
          union
          select token.replaced_by from maker join annals.access_token as token using (id))
        select id from maker))
    order by s.id for update
  loop
    update annals.stream as s set paused_at = clock_timestamp(), pause_reason = case
      when ended.issued_by is not null then 'The link that set the stream was revoked.'
      when ended.revoked_at is not null then 'The token that made the stream''s link was revoked.'
      else 'The token that made the stream''s link has expired.' end
    where s.id = old_row.id returning * into new_row;
    perform annals.record_change('annals.stream.pause', old_row, new_row, actor_token, address);
  end loop;
end $$;

-- Ends a pause or a stop, and tries again at once. A link that resumes a link's stream takes it over.
create or replace function annals.resume_stream(
  project_id uuid, name text, actor_token uuid default null, address inet default inet_client_addr(), by_link boolean default null)
  returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.stream;
  new_row annals.stream;
  is_link boolean := annals.is_link(actor_token, by_link);
begin
  old_row := annals.lock_stream(project_id, name, actor_token, by_link);
  update annals.stream_progress as p set failures = 0, refusals = 0, retry_at = '-infinity'
  where p.stream_id = old_row.id;
  delete from annals.stream_death as d where d.stream_id = old_row.id;
  if old_row.paused_at is null and old_row.stopped_at is null then
    return;
  end if;
  update annals.stream as s set paused_at = null, pause_reason = null, stopped_at = null, stop_reason = null,
    link_id = case when is_link then actor_token else s.link_id end,
    link_issued_by = case
      when is_link then (select token.issued_by from annals.access_token as token where token.id = actor_token)
      else s.link_issued_by end
  where s.id = old_row.id returning * into new_row;
  perform annals.record_change('annals.stream.resume', old_row, new_row, actor_token, address);
end $$;

-- Moves the stream to another place of the feed. A delivery in progress is no longer acknowledged, so it cannot move the cursor.
-- feed: the project of the feed; null for all that the stream follows.
create or replace function annals.rewind_stream(
  project_id uuid, name text, feed uuid, cursor text, actor_token uuid default null, address inet default inet_client_addr(),
  by_link boolean default null) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.stream;
  new_row annals.stream;
begin
  old_row := annals.lock_stream(project_id, name, actor_token, by_link);
  update annals.stream_progress as p
  set cursor = cursor, rewinds = p.rewinds + 1, epoch = p.epoch + 1, leased_by = null, leased_until = null, failures = 0,
    refusals = 0, retry_at = '-infinity'
  where p.stream_id = old_row.id and (feed is null or p.project_id = feed);
  if not found then
    raise no_data_found using
      message = format('stream %s does not follow the feed of project %s', name, feed),
      constraint = 'stream_feed_known', schema = 'annals', table = 'stream_progress';
  end if;
  delete from annals.stream_death as d where d.stream_id = old_row.id;
  update annals.stream as s
  set rewound_to = concat_ws(' ', cursor, feed), rewinds = s.rewinds + 1, stopped_at = null, stop_reason = null
  where s.id = old_row.id returning * into new_row;
  perform annals.record_change('annals.stream.rewind', old_row, new_row, actor_token, address);
end $$;

-- Deletes a stream with its progress and its dead letters. The name is free again.
create or replace function annals.delete_stream(
  project_id uuid, name text, actor_token uuid default null, address inet default inet_client_addr(), by_link boolean default null)
  returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.stream;
begin
  old_row := annals.lock_stream(project_id, name, actor_token, by_link);
  delete from annals.stream as s where s.id = old_row.id;
  perform annals.record_change('annals.stream.delete', old_row, null, actor_token, address);
end $$;

-- The service gives a stream up if it still holds the lease with this epoch; false if it does not. An operator has to look at it.
create or replace function annals.stop_stream(stream_id uuid, project_id uuid, epoch bigint, reason text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.stream;
  new_row annals.stream;
begin
  -- In the order in which all functions lock the two.
  select * into old_row from annals.stream as s where s.id = stream_id for update;
  update annals.stream_progress as p
  set epoch = p.epoch + 1, leased_by = null, leased_until = null, last_error = reason, failed_at = clock_timestamp(),
    failures = p.failures + 1
  where p.stream_id = stream_id and p.project_id = project_id and p.epoch = epoch;
  if not found or old_row.stopped_at is not null then
    return false;
  end if;
  update annals.stream as s set stopped_at = clock_timestamp(), stop_reason = reason
  where s.id = stream_id returning * into new_row;
  perform annals.record_change('annals.stream.stop', old_row, new_row, null, null);
  return true;
end $$;

-- Ends the leases of instances that are gone, and notes which of them died while they delivered a stream. An instance that stops gives its
-- leases back. A living instance takes its own deaths back: it was frozen, or could not reach the database. instance: the caller; most:
-- how many deaths stop a stream.
--
-- Returns the streams that are stopped now, and one to deliver alone, because one more death would stop it.
create or replace function annals.note_stream_deaths(instance uuid, most integer) returns setof annals.stream
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.stream;
  new_row annals.stream;
begin
  delete from annals.stream_death as d where d.instance = instance;
  -- A stream that is being changed waits for the next round: the change locks the two in the other order.
  with expired as materialized (
    select p.stream_id, p.project_id, p.leased_by
    from annals.stream_progress as p
    join annals.stream as s on s.id = p.stream_id
    where p.leased_until < clock_timestamp()
    for no key update of p skip locked
    for key share of s skip locked
  ), ended as (
    update annals.stream_progress as p set epoch = p.epoch + 1, leased_by = null, leased_until = null
    from expired as e where p.stream_id = e.stream_id and p.project_id = e.project_id
    returning e.stream_id, e.leased_by
  )
  insert into annals.stream_death (stream_id, instance)
  select distinct e.stream_id, e.leased_by from ended as e where e.leased_by <> instance
  on conflict do nothing;
  for old_row in
    select s.* from annals.stream as s
    where s.stopped_at is null
      and s.id in (select d.stream_id from annals.stream_death as d group by d.stream_id having count(*) >= most)
    for update skip locked
  loop
    update annals.stream as s
    set stopped_at = clock_timestamp(), stop_reason = format('The service died %s times while it delivered this stream, and delivered'
      ' nothing in between. Look at the sink and at the log of the service, and resume the stream then.', most)
    where s.id = old_row.id returning * into new_row;
    perform annals.record_change('annals.stream.stop', old_row, new_row, null, null);
    return next new_row;
  end loop;
  return query
  select s.* from annals.stream as s
  where s.paused_at is null and s.stopped_at is null
    and s.id in (select d.stream_id from annals.stream_death as d group by d.stream_id having count(*) = most - 1)
    and exists (
      select from annals.stream_progress as p
      where p.stream_id = s.id and p.leased_until is null and p.retry_at <= clock_timestamp()
        and split_part(p.cursor, '-', 1)::bigint <> annals.followed_head(p))
  limit 1;
end $$;

-- The last sequence id of a feed that a stream follows, which a member may have.
create or replace function annals.followed_head(progress annals.stream_progress) returns bigint
language sql stable
return case
  when (select placement from annals.project where id = progress.project_id) in ('gone', 'arriving') then progress.member_head
  else coalesce((
    select last_sequence_id from annals.feed_segment
    where project_id = progress.project_id order by first_sequence_id desc limit 1), 0)
end;

-- The streams of all projects follow a new project.
create or replace function annals.follow_project() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  insert into annals.stream_progress (stream_id, project_id, cursor)
  -- One that is being deleted is waited for, and is gone then.
  select s.id, new.id, '0' from annals.stream as s where s.all_projects for key share;
  return null;
end $$;
