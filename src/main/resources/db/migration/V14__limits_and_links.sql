-- Limits on the use of the service by a project or by one of its tokens, and links to a few of a project's records.
--
-- Limits are on records and bytes appended and requests, per second; and on streams and exports at a time. Each instance of
-- the service keeps to them by itself, and learns of a change as it learns that a token was revoked. Plain SQL knows no such
-- limits.

-- Sets all limits of a project; what is not named has none.
create function annals.limit_project(
  project_id uuid, limits jsonb, actor_token uuid default null, address inet default inet_client_addr()) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.project;
  new_row annals.project;
begin
  perform annals.require_administrator(actor_token);
  -- Unlike its name and its end, this is nothing that open transactions rely on: none is waited for.
  old_row := annals.lock_project(project_id);
  if old_row.limits = limits then
    return;
  end if;
  update annals.project as p set limits = limits where p.id = project_id returning * into new_row;
  perform annals.record_project_change('annals.project.limit', old_row, new_row, actor_token, address);
end $$;

-- Sets all limits of a token; what is not named has none but that of the project.
create function annals.limit_token(
  project_id uuid, token_id uuid, limits jsonb, actor_token uuid default null, address inet default inet_client_addr())
  returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.access_token;
  new_row annals.access_token;
begin
  perform annals.require_administrator(actor_token);
  old_row := annals.lock_token(project_id, token_id);
  if old_row.limits = limits then
    return;
  end if;
  update annals.access_token as t set limits = limits where t.id = token_id returning * into new_row;
  perform annals.record_token_change('annals.token.limit', old_row, new_row, actor_token, address);
end $$;

-- Makes the token of a viewer link: it reads the records of one subject, or one actor, or both, for a day at most, and does
-- nothing else. It ends with the token that made it.
create function annals.issue_link(
  project_id uuid, id uuid, token_hash bytea, filter jsonb, seconds integer, actor_token uuid,
  address inet default inet_client_addr()) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  made  annals.access_token;
  now   timestamptz := clock_timestamp();
begin
  perform from annals.access_token as t
  where t.id = actor_token and t.project_id = project_id and 'link' = any (t.scopes) and t.revoked_at is null
    and (t.expires_at is null or t.expires_at > now)
  for share;
  if not found then
    raise insufficient_privilege using
      message = format('token %s may not make links: it has ended, or has not the scope link', actor_token),
      constraint = 'access_token_administrator', schema = 'annals', table = 'access_token';
  end if;
  insert into annals.access_token (id, project_id, token_hash, scopes, created_at, expires_at, issued_by, filter)
  values (id, project_id, token_hash, array['view'], now, now + make_interval(secs => seconds), actor_token, filter)
  returning * into made;
  perform annals.record_event('annals.token.link', 'token', made.id::text, null,
    jsonb_build_object('before', null, 'after', annals.token_state(made)), actor_token, address);
end $$;
