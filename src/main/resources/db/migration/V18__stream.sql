-- Streams: named followers of a project's feed, or of the feeds of all projects, that deliver their records to a sink elsewhere.
--
-- What people say of a stream is in annals.stream, and each change of it has its event in the administration's feed, as everything
-- in V11 has. How far a stream has come in a feed is in annals.stream_progress, and is no event: there would be one for each batch.

create table annals.stream (
  id            uuid           not null,
  -- Whose it is.
  project_id    uuid           not null,
  name          varchar(128)   not null,
  -- Whether it follows the feeds of all projects, also of those that are made later; otherwise its own project's. Never changes.
  all_projects  boolean        not null default false,
  sink_type     varchar(32)    not null,
  url           varchar(2048)  not null,
  -- Encrypted by the service, with a key that no database holds. Null where the sink has none.
  secret        bytea,
  format        varchar(32)    not null,
  -- Filters by the names that they have as parameters of a page.
  filter        jsonb          not null default '{}',
  on_refusal    varchar(32)    not null,
  max_refusals  integer        not null,
  created_at    timestamptz    not null default clock_timestamp(),
  paused_at     timestamptz,
  -- By the service, because the sink or the feed said that it cannot go on.
  stopped_at    timestamptz,
  stop_reason   varchar(1024),
  -- Where somebody last set it, and how often; null and 0 while it goes on from where it began.
  rewound_to    varchar(128),
  rewinds       integer        not null default 0,
  constraint stream_pkey primary key (id),
  constraint stream_name_key unique (project_id, name),
  constraint stream_project_fkey foreign key (project_id) references annals.project (id),
  constraint stream_name check (name ~ '^[A-Za-z0-9._-]+$'),
  constraint stream_sink_type check (sink_type::text in ('webhook', 'postgresql', 'kafka', 'otlp', 'syslog', 's3')),
  constraint stream_secret_length check (octet_length(secret) between 29 and 4096),
  constraint stream_format check (format::text in ('json', 'cloudevents', 'ocsf', 'cef', 'splunk_hec', 'datadog')),
  constraint stream_filter check (jsonb_typeof(filter) = 'object'),
  constraint stream_on_refusal check (on_refusal::text in ('stop', 'dead_letter')),
  constraint stream_max_refusals check (max_refusals between 1 and 100),
  constraint stream_stopped check ((stopped_at is null) = (stop_reason is null))
);

-- Who delivers a feed, and up to where the sink has acknowledged: one row for each feed that a stream follows.
create table annals.stream_progress (
  stream_id      uuid         not null,
  -- Whose feed.
  project_id     uuid         not null,
  -- As readers have cursors: the sequence id and its check value; 0 is the start.
  cursor         varchar(64)  not null,
  -- How often somebody has set it to another place.
  rewinds        integer      not null default 0,
  -- Grows with each lease and each change of the stream. Whoever holds an older one writes nothing here any more.
  epoch          bigint       not null default 0,
  leased_by      uuid,
  leased_until   timestamptz,
  -- When it was last somebody's turn: the one that waits longest is next.
  turn_at        timestamptz  not null default '-infinity',
  -- Failures since the last success, of which so many were refusals; and when to try again.
  failures       integer      not null default 0,
  refusals       integer      not null default 0,
  retry_at       timestamptz  not null default '-infinity',
  last_error     varchar(1024),
  failed_at      timestamptz,
  delivered_at   timestamptz,
  delivered      bigint       not null default 0,
  dead_letters   bigint       not null default 0,
  constraint stream_progress_pkey primary key (stream_id, project_id),
  constraint stream_progress_stream_fkey foreign key (stream_id) references annals.stream (id) on delete cascade,
  constraint stream_progress_project_fkey foreign key (project_id) references annals.project (id),
  constraint stream_progress_cursor check (cursor ~ '^[0-9]{1,18}(-[0-9a-f]{8})?$'),
  constraint stream_progress_counts check (
    rewinds >= 0 and failures >= 0 and refusals >= 0 and delivered >= 0 and dead_letters >= 0),
  constraint stream_progress_lease check ((leased_by is null) = (leased_until is null))
) with (fillfactor = 50); -- room for the next version of a row on its own page

-- Records that a sink refused for good, and that its stream has passed by. The record itself stays in the feed.
create table annals.stream_dead_letter (
  stream_id    uuid           not null,
  project_id   uuid           not null,
  sequence_id  bigint         not null,
  record_id    uuid           not null,
  reason       varchar(1024)  not null,
  refused_at   timestamptz    not null default clock_timestamp(),
  constraint stream_dead_letter_pkey primary key (stream_id, project_id, sequence_id),
  constraint stream_dead_letter_progress_fkey foreign key (stream_id, project_id)
    references annals.stream_progress (stream_id, project_id) on delete cascade,
  constraint stream_dead_letter_range check (sequence_id >= 1)
);

-- Instances that died while they delivered a stream, since its sink has last acknowledged a record.
create table annals.stream_death (
  stream_id  uuid         not null,
  instance   uuid         not null,
  died_at    timestamptz  not null default clock_timestamp(),
  constraint stream_death_pkey primary key (stream_id, instance),
  constraint stream_death_stream_fkey foreign key (stream_id) references annals.stream (id) on delete cascade
);

-- Of the secret only a digest of how it is encrypted: it tells that the secret was changed, and nothing of it.
create function annals.stream_state(stream annals.stream) returns jsonb
language sql stable set timezone = 'UTC'
as $$
  select jsonb_build_object('id', stream.id, 'project_id', stream.project_id, 'name', stream.name,
    'all_projects', stream.all_projects, 'sink_type', stream.sink_type, 'url', stream.url, 'secret_digest', encode(sha256(stream.secret), 'hex'),
    'format', stream.format, 'filter', stream.filter, 'on_refusal', stream.on_refusal, 'max_refusals', stream.max_refusals,
    'created_at', stream.created_at, 'paused_at', stream.paused_at, 'stopped_at', stream.stopped_at,
    'stop_reason', stream.stop_reason, 'rewound_to', stream.rewound_to, 'rewinds', stream.rewinds)
  where stream.id is not null
$$;

-- Refuses a token of a project that has ended, or has not the scope stream, also where the service still takes it for valid. Its
-- revocation waits until the transaction ends. Without a token it is the schema's owner who calls, or the admin that is configured. The
-- streams of the project annals are the admins'.
create function annals.require_streaming(project_id uuid, actor_token uuid) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
begin
  if annals.is_identity_id(actor_token) then
    perform from annals.identity_grant as granted
    where granted.project_id = project_id and granted.scopes && array['stream', 'admin'] and granted.revoked_at is null
      and exists (
        select from annals.identity_entry as entry
        where entry.identity_id = actor_token and entry.grant_id = granted.id)
    for share;
  elsif actor_token is not null then
    perform from annals.access_token as token
    where token.id = actor_token and token.project_id = project_id and token.scopes && array['stream', 'admin']
      and token.revoked_at is null and (token.expires_at is null or token.expires_at > clock_timestamp())
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

-- The event of a change of a stream.
create function annals.record_stream_change(
  action text, old_row annals.stream, new_row annals.stream, actor_token uuid, address inet) returns void
language sql set search_path = pg_catalog, pg_temp
as $$
  select annals.record_event(action, 'stream', coalesce(new_row.id, old_row.id)::text, coalesce(new_row.name, old_row.name),
    jsonb_build_object('before', annals.stream_state(old_row), 'after', annals.stream_state(new_row)), actor_token, address)
$$;

-- What changes a stream that is there calls this first.
create function annals.lock_stream(project_id uuid, name text, actor_token uuid) returns annals.stream
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  known annals.stream;
begin
  perform annals.require_streaming(project_id, actor_token);
  select * into known from annals.stream as s where s.project_id = project_id and s.name = name for update;
  if not found then
    raise no_data_found using
      message = format('project %s has no stream %s', project_id, name),
      constraint = 'stream_known', schema = 'annals', table = 'stream';
  end if;
  return known;
end $$;

-- Makes a stream, or says anew what it is. One that was stopped goes on then; one that is paused stays so. A delivery that is under
-- way is not acknowledged any more.
create function annals.set_stream(
  project_id uuid, id uuid, name text, sink_type text, url text, secret bytea, format text, filter jsonb, on_refusal text,
  max_refusals integer, all_projects boolean, cursor text, most integer, actor_token uuid default null,
  address inet default inet_client_addr()) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.stream;
  new_row annals.stream;
begin
  perform annals.require_streaming(project_id, actor_token);
  if all_projects then
    if project_id <> annals.administration() then
      raise insufficient_privilege using
        message = 'only streams of the project annals follow all projects',
        constraint = 'stream_all_projects', schema = 'annals', table = 'stream';
    end if;
    -- No project is made meanwhile: what is there is found here, and each later one finds the stream.
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
      id, project_id, name, all_projects, sink_type, url, secret, format, filter, on_refusal, max_refusals)
    values (id, project_id, name, all_projects, sink_type, url, secret, format, filter, on_refusal, max_refusals)
    returning * into new_row;
    insert into annals.stream_progress (stream_id, project_id, cursor)
    select id, p.id, cursor from annals.project as p where all_projects or p.id = project_id;
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
    set sink_type = sink_type, url = url, secret = secret, format = format, filter = filter, on_refusal = on_refusal,
      max_refusals = max_refusals, stopped_at = null, stop_reason = null
    where s.id = id returning * into new_row;
    if annals.stream_state(old_row) = annals.stream_state(new_row) then
      return;
    end if;
    update annals.stream_progress as p
    set epoch = p.epoch + 1, leased_by = null, leased_until = null, failures = 0, refusals = 0, retry_at = '-infinity'
    where p.stream_id = id;
    delete from annals.stream_death as d where d.stream_id = id;
  end if;
  perform annals.record_stream_change('annals.stream.set', old_row, new_row, actor_token, address);
end $$;

-- From its commit on no delivery begins; the one that is under way may end.
create function annals.pause_stream(
  project_id uuid, name text, actor_token uuid default null, address inet default inet_client_addr()) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.stream;
  new_row annals.stream;
begin
  old_row := annals.lock_stream(project_id, name, actor_token);
  if old_row.paused_at is not null then
    return;
  end if;
  update annals.stream as s set paused_at = clock_timestamp() where s.id = old_row.id returning * into new_row;
  perform annals.record_stream_change('annals.stream.pause', old_row, new_row, actor_token, address);
end $$;

-- Goes on after a pause or a stop, at once: whatever it was waiting for, it tries again.
create function annals.resume_stream(
  project_id uuid, name text, actor_token uuid default null, address inet default inet_client_addr()) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.stream;
  new_row annals.stream;
begin
  old_row := annals.lock_stream(project_id, name, actor_token);
  update annals.stream_progress as p set failures = 0, refusals = 0, retry_at = '-infinity'
  where p.stream_id = old_row.id;
  delete from annals.stream_death as d where d.stream_id = old_row.id;
  if old_row.paused_at is null and old_row.stopped_at is null then
    return;
  end if;
  update annals.stream as s set paused_at = null, stopped_at = null, stop_reason = null
  where s.id = old_row.id returning * into new_row;
  perform annals.record_stream_change('annals.stream.resume', old_row, new_row, actor_token, address);
end $$;

-- Sets the stream to another place of the feed, before or behind where it stands. A delivery that is under way is not acknowledged any
-- more, so that it cannot move the cursor from there.
--
-- feed  the project whose feed it is; null for all that the stream follows
create function annals.rewind_stream(
  project_id uuid, name text, feed uuid, cursor text, actor_token uuid default null, address inet default inet_client_addr())
  returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.stream;
  new_row annals.stream;
begin
  old_row := annals.lock_stream(project_id, name, actor_token);
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
  perform annals.record_stream_change('annals.stream.rewind', old_row, new_row, actor_token, address);
end $$;

-- With its progress and its dead letters. The name is free again.
create function annals.delete_stream(
  project_id uuid, name text, actor_token uuid default null, address inet default inet_client_addr()) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.stream;
begin
  old_row := annals.lock_stream(project_id, name, actor_token);
  delete from annals.stream as s where s.id = old_row.id;
  perform annals.record_stream_change('annals.stream.delete', old_row, null, actor_token, address);
end $$;

-- The service gives a stream up, if it still holds the lease with this epoch; false if it does not. Somebody has to look at it.
create function annals.stop_stream(stream_id uuid, project_id uuid, epoch bigint, reason text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.stream;
  new_row annals.stream;
begin
  -- In the order in which everybody else takes the two.
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
  perform annals.record_stream_change('annals.stream.stop', old_row, new_row, null, null);
  return true;
end $$;

-- Ends the leases of instances that are gone, and notes for each stream which of them died while they delivered it. An instance that
-- stops gives its leases back before. What lives takes its own deaths back: it was frozen, or the database was out of its reach.
--
-- instance  the one that asks
-- most      how many deaths stop a stream
--
-- The streams that are stopped now; and one to deliver with nothing beside it, for with one more death it would be stopped.
create function annals.note_stream_deaths(instance uuid, most integer) returns setof annals.stream
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.stream;
  new_row annals.stream;
begin
  delete from annals.stream_death as d where d.instance = instance;
  -- A stream that is just being changed waits for the next look: the change locks the two the other way round.
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
    perform annals.record_stream_change('annals.stream.stop', old_row, new_row, null, null);
    return next new_row;
  end loop;
  return query
  select s.* from annals.stream as s
  where s.paused_at is null and s.stopped_at is null
    and s.id in (select d.stream_id from annals.stream_death as d group by d.stream_id having count(*) = most - 1)
    and exists (
      select from annals.stream_progress as p
      where p.stream_id = s.id and p.leased_until is null and p.retry_at <= clock_timestamp()
        and split_part(p.cursor, '-', 1)::bigint <> coalesce(
          (select last_sequence_id from annals.feed_segment
           where project_id = p.project_id order by first_sequence_id desc limit 1), 0))
  limit 1;
end $$;

-- A new project is followed by the streams of all projects.
create function annals.follow_project() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  insert into annals.stream_progress (stream_id, project_id, cursor)
  -- One that is just being deleted is waited for, and is not there then.
  select s.id, new.id, '0' from annals.stream as s where s.all_projects for key share;
  return null;
end $$;

create trigger project_followed after insert on annals.project
for each row execute function annals.follow_project();
