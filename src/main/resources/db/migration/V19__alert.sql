-- Alerts: saved queries of projects, each with how many matching records an interval may have. Where it has more, the administration's
-- feed gets an event that says so, one for each such interval at most.
--
-- What people say of an alert has its event in that feed, as everything in V11 has. How far it has counted stands in the same row and is
-- no event: there would be one for each step. So one lock holds both, and nobody counts by a definition that has changed meanwhile.

create table annals.alert (
  id                 uuid           not null,
  project_id         uuid           not null,
  name               varchar(128)   not null,
  -- As in GET /v1/project-logs.
  q                  varchar(1024)  not null,
  -- An interval may have so many matching records. The next one raises the alert.
  threshold          bigint         not null,
  interval_seconds   integer        not null,
  enabled            boolean        not null,
  created_at         timestamptz    not null default clock_timestamp(),
  -- All records of the feed up to this one have been counted, or came before the alert was as it is.
  sequence_id        bigint         not null,
  -- The interval that is being counted: that of the newest matching record. Intervals begin at multiples of their length since 1970.
  window_start       timestamptz,
  first_sequence_id  bigint,
  match_count        bigint         not null default 0,
  -- The last interval for which there is an event, and how many there are.
  raised_window      timestamptz,
  raised_count       bigint         not null default 0,
  -- When it was last somebody's turn: the one that waits longest is next.
  turn_at            timestamptz    not null default '-infinity',
  -- Failures since the last success; and when to try again.
  failures           integer        not null default 0,
  retry_at           timestamptz    not null default '-infinity',
  last_error         varchar(1024),
  failed_at          timestamptz,
  constraint alert_pkey primary key (id),
  constraint alert_name_key unique (project_id, name),
  constraint alert_project_fkey foreign key (project_id) references annals.project (id),
  constraint alert_name check (name ~ '^[A-Za-z0-9._-]+$'),
  constraint alert_q check (q <> ''),
  constraint alert_threshold check (threshold between 0 and 1000000000),
  constraint alert_interval check (interval_seconds between 60 and 86400),
  constraint alert_window check (
    (window_start is null) = (first_sequence_id is null) and (window_start is null) = (match_count = 0)),
  constraint alert_counts check (sequence_id >= 0 and match_count >= 0 and raised_count >= 0 and failures >= 0)
) with (fillfactor = 50); -- room for the next version of a row on its own page

create function annals.alert_state(alert annals.alert) returns jsonb
language sql stable set timezone = 'UTC'
as $$
  select jsonb_build_object('id', alert.id, 'project_id', alert.project_id, 'name', alert.name, 'q', alert.q,
    'threshold', alert.threshold, 'interval_seconds', alert.interval_seconds, 'enabled', alert.enabled,
    'created_at', alert.created_at)
  where alert.id is not null
$$;

-- The event of a change of an alert.
create function annals.record_alert_change(
  action text, old_row annals.alert, new_row annals.alert, actor_token uuid, address inet) returns void
language sql set search_path = pg_catalog, pg_temp
as $$
  select annals.record_event(action, 'alert', coalesce(new_row.id, old_row.id)::text, coalesce(new_row.name, old_row.name),
    jsonb_build_object('before', annals.alert_state(old_row), 'after', annals.alert_state(new_row)), actor_token, address)
$$;

-- Makes an alert, or says anew what it is. It counts the records that come from then on. One that is set to what it is goes on.
--
-- The alert's row is locked before a feed, as by whoever counts: the event of an alert of the project annals is in its own feed.
create function annals.set_alert(
  project_id uuid, id uuid, name text, q text, threshold bigint, interval_seconds integer, enabled boolean, most integer,
  actor_token uuid default null, address inet default inet_client_addr()) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.alert;
  new_row annals.alert;
  head    bigint;
begin
  perform annals.require_streaming(project_id, actor_token);
  select * into old_row from annals.alert as a where a.project_id = project_id and a.name = name for update;
  if old_row.id is null then
    -- One at a time in a project, so that their number is known.
    perform from annals.project as p where p.id = project_id for no key update;
    if exists (select from annals.alert as a where a.project_id = project_id and a.name = name) then
      raise serialization_failure using message = format('alert %s was made meanwhile', name);
    end if;
    if (select count(*) from annals.alert as a where a.project_id = project_id) >= most then
      raise program_limit_exceeded using
        message = format('project %s has %s alerts, as many as it may have', project_id, most),
        constraint = 'alert_limit', schema = 'annals', table = 'alert';
    end if;
  end if;
  -- What commits from here on comes behind it.
  head := coalesce(
    (select s.last_sequence_id from annals.feed_segment as s
     where s.project_id = project_id order by s.first_sequence_id desc limit 1), 0);
  if old_row.id is null then
    insert into annals.alert (id, project_id, name, q, threshold, interval_seconds, enabled, sequence_id)
    values (id, project_id, name, q, threshold, interval_seconds, enabled, head)
    returning * into new_row;
  elsif (old_row.q, old_row.threshold, old_row.interval_seconds, old_row.enabled)
      is distinct from (q, threshold, interval_seconds, enabled) then
    update annals.alert as a
    set q = q, threshold = threshold, interval_seconds = interval_seconds, enabled = enabled, sequence_id = head,
      window_start = null, first_sequence_id = null, match_count = 0, raised_window = null, failures = 0,
      retry_at = '-infinity'
    where a.id = old_row.id returning * into new_row;
  else
    return;
  end if;
  perform annals.record_alert_change('annals.alert.set', old_row, new_row, actor_token, address);
end $$;

-- The name is free again.
create function annals.delete_alert(
  project_id uuid, name text, actor_token uuid default null, address inet default inet_client_addr()) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.alert;
begin
  perform annals.require_streaming(project_id, actor_token);
  delete from annals.alert as a where a.project_id = project_id and a.name = name returning * into old_row;
  if old_row.id is null then
    raise no_data_found using
      message = format('project %s has no alert %s', project_id, name),
      constraint = 'alert_known', schema = 'annals', table = 'alert';
  end if;
  perform annals.record_alert_change('annals.alert.delete', old_row, null, actor_token, address);
end $$;

-- Moves an alert on that has counted up to a record. If that record has raised it, this appends the event. A feed is counted in one
-- direction only, and no interval is raised a second time.
create function annals.advance_alert(
  id uuid, sequence_id bigint, window_start timestamptz, first_sequence_id bigint, match_count bigint, raised boolean) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC'
as $$
#variable_conflict use_variable
declare
  old_row annals.alert;
begin
  select * into old_row from annals.alert as a where a.id = id for no key update;
  if old_row.id is null or sequence_id <= old_row.sequence_id or window_start < old_row.window_start
      or raised and (match_count <= old_row.threshold or window_start <= old_row.raised_window) then
    raise check_violation using
      message = format('alert %s is at %s in the window %s, raised for %s, and cannot be moved to %s in %s (%s, raised: %s)', id,
        old_row.sequence_id, old_row.window_start, old_row.raised_window, sequence_id, window_start, match_count, raised),
      constraint = 'alert_moves_on', schema = 'annals', table = 'alert';
  end if;
  update annals.alert as a
  set sequence_id = sequence_id, window_start = window_start, first_sequence_id = first_sequence_id, match_count = match_count,
    raised_window = case when raised then window_start else a.raised_window end,
    raised_count = a.raised_count + case when raised then 1 else 0 end,
    turn_at = clock_timestamp(), failures = 0, retry_at = '-infinity'
  where a.id = id;
  if raised then
    perform annals.record_event('annals.alert.raise', 'alert', id::text, old_row.name,
      jsonb_build_object('project_id', old_row.project_id,
        'project', (select p.name from annals.project as p where p.id = old_row.project_id), 'q', old_row.q,
        'threshold', old_row.threshold, 'count', match_count, 'interval_seconds', old_row.interval_seconds,
        'window_start', window_start, 'window_end', window_start + make_interval(secs => old_row.interval_seconds),
        'first_sequence_id', first_sequence_id, 'last_sequence_id', sequence_id), null, null);
  end if;
end $$;
