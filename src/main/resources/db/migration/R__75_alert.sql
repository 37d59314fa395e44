-- Alerts: saved queries with the number of matching records that an interval may have. More than that appends one event to the
-- administration's feed. Definition and progress are in one row, so one lock keeps a count from following an outdated definition.

-- Makes or redefines an alert, which counts from then on. One that is set to what it is goes on counting. The alert's row is locked before a
-- feed, as by the evaluator: an alert of the project annals has its event in its own feed.
create or replace function annals.set_alert(
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
  -- Later commits come after it.
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
  perform annals.record_change('annals.alert.set', old_row, new_row, actor_token, address);
end $$;

-- Deletes an alert. The name is free again.
create or replace function annals.delete_alert(
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
  perform annals.record_change('annals.alert.delete', old_row, null, actor_token, address);
end $$;

-- Moves an alert forward to a record. If the record has raised it, appends the event. A feed is counted in one direction, and no interval is
-- raised twice.
create or replace function annals.advance_alert(
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
