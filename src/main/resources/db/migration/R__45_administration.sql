-- Administration: projects, tokens, grants and identities, and the feed of their changes.
--
-- Each function changes the state and appends its event to the project annals in one transaction: who, from where, the state before
-- and after. No role may change the tables otherwise or append to that project. administration_differences() derives the state from
-- the feed, except tokens' hashes and the hour of their last use.
--
-- Functions that the service calls take the caller's token and address. Without a token the actor is the login role; for the service,
-- it is the admin token of its settings.

create or replace function annals.administration() returns uuid
language sql stable
return (select id from annals.project where name = 'annals');

-- The state of a row, as its events and administration_differences() see it: without secrets and without progress. Digests tell that a
-- secret or a link's filter has changed; events stay, and a filter names a person. The token's hash makes its digest unguessable.
create or replace function annals.state(stored anyelement) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp set timezone = 'UTC'
as $$
declare
  state jsonb := to_jsonb(stored);
begin
  if stored is null then
    return null;
  end if;
  return case pg_typeof(stored)
    when 'annals.access_token'::regtype then
      state - array['token_hash', 'last_used_at', 'filter'] || jsonb_build_object('filter_digest', encode(sha256(
        (state ->> 'token_hash')::bytea || convert_to(nullif(state -> 'filter', 'null')::text, 'UTF8')), 'hex'))
    when 'annals.look'::regtype then
      state - array['project_id', 'logo'] || jsonb_build_object(
        'id', state -> 'project_id', 'logo_digest', encode(sha256((state ->> 'logo')::bytea), 'hex'))
    when 'annals.archive'::regtype then
      state || jsonb_build_object('sha256', encode((state ->> 'sha256')::bytea, 'hex'))
    when 'annals.stream'::regtype then
      state - 'secret' || jsonb_build_object('secret_digest', encode(sha256((state ->> 'secret')::bytea), 'hex'))
    when 'annals.alert'::regtype then
      state - array['sequence_id', 'window_start', 'first_sequence_id', 'match_count', 'raised_window', 'raised_count', 'turn_at',
        'failures', 'retry_at', 'last_error', 'failed_at']
    when 'annals.catalogue'::regtype then state - 'version'
    else state
  end;
end $$;

-- Appends an event to the administration's feed.
create or replace function annals.record_event(
  action text, subject_type text, subject_id text, subject_name text, details jsonb, actor_token uuid, address inet,
  outcome text default 'success') returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  id          uuid := annals.sequential_guid();
  is_service  boolean := current_setting('role') = 'annals_service';
begin
  insert into annals.audit_record (
    project_id, id, placed_with, "timestamp", recorded_at, action, actor_type, actor_id, subject_type, subject_id,
    subject_name, outcome, ip_address, metadata, recorded_by_token, recorded_by_role)
  values (
    annals.administration(), id, id, statement_timestamp(), statement_timestamp(), action,
    case
      when annals.is_identity_id(actor_token) then 'identity'
      when actor_token is not null then 'token'
      when is_service and address is not null and action <> 'annals.authentication.fail' then 'setting'
      when is_service then 'service'
      else 'role'
    end,
    case
      when actor_token is not null then actor_token::text
      when is_service and address is not null and action <> 'annals.authentication.fail' then 'ANNALS_ADMIN_TOKEN'
      else session_user
    end,
    subject_type, subject_id, subject_name, outcome, host(address)::inet, details, actor_token,
    case when actor_token is null then session_user end);
end $$;

-- The event of a change of a row.
create or replace function annals.record_change(
  action text, old_row anyelement, new_row anyelement, actor_token uuid, address inet, more jsonb default '{}') returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  before  jsonb := annals.state(old_row);
  after   jsonb := annals.state(new_row);
  either  jsonb := coalesce(after, before);
begin
  perform annals.record_event(action, replace(split_part(action, '.', 2), 'writer', 'role'),
    coalesce(either ->> 'id', either ->> 'identity_id', either ->> 'role_name', either ->> 'project_id'), either ->> 'name',
    jsonb_build_object('before', before, 'after', after) || more, actor_token, address);
end $$;

-- Whether this database is a member: its home has the tokens and identities.
create or replace function annals.is_member() returns boolean
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select exists (select from annals.database where id = annals.administration())
$$;

-- Notes a member, in home or in the member itself. Refuses another database with a name that is known, a database with another name,
-- and a member that is a home.
create or replace function annals.add_database(id uuid, name text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  here   boolean := id = annals.administration();
  known  annals.database;
  made   annals.database;
begin
  select * into known from annals.database as d where d.id = id or d.name = name order by d.id = id desc limit 1;
  if known.id = id and known.name = name then
    return;
  elsif known.id = id then
    raise unique_violation using message = format('this database is known as %s, and cannot be %s', known.name, name);
  elsif known.id is not null and not here then
    raise unique_violation using message = format('the name %s is that of another database', name);
  elsif not here and exists (select from annals.project as p where p.id = id) then
    raise unique_violation using message = format('the database %s has the id of a project of this one, %s', name, id);
  elsif known.id is not null or here and (
      exists (select from annals.access_token) or exists (select from annals.database)) then
    raise unique_violation using message = format('the database %s is the home of a service', name);
  end if;
  insert into annals.database (id, name) values (id, name) returning * into made;
  perform annals.record_change('annals.database.add', null, made, null, null);
  if not here then
    -- The member's project annals is read, and followed by streams, as any other that is there.
    perform annals.create_project(
      case when exists (select from annals.project as p where p.name = 'annals-' || name) then id::text else 'annals-' || name end,
      id, null, null, name);
  end if;
end $$;

-- Refuses a token that has ended and an identity without a grant, even if the service still accepts it. A revocation waits until the
-- transaction ends.
create or replace function annals.require_administrator(actor_token uuid) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  -- Of a member, the service has checked the caller in home.
  if annals.is_member() then
    return;
  end if;
  if annals.is_identity_id(actor_token) then
    perform from annals.identity_grant as granted
    where granted.project_id = annals.administration() and 'admin' = any (granted.scopes) and granted.revoked_at is null
      and exists (
        select from annals.identity_entry as entry
        where entry.identity_id = actor_token and entry.grant_id = granted.id)
    for share;
    if not found then
      raise insufficient_privilege using
        message = format('identity %s may not administer: it has no grant for that, or has none any more', actor_token),
        constraint = 'identity_administrator', schema = 'annals', table = 'identity_grant';
    end if;
  elsif actor_token is not null then
    perform from annals.access_token as token
    where token.id = actor_token and 'admin' = any (scopes) and revoked_at is null
      and (expires_at is null or expires_at > clock_timestamp())
    for share;
    if not found then
      raise insufficient_privilege using
        message = format('token %s may not administer: it has ended, or has not the scope admin', actor_token),
        constraint = 'access_token_administrator', schema = 'annals', table = 'access_token';
    end if;
  end if;
end $$;

-- Locks a project for a change. Changes that open transactions rely on lock it further.
create or replace function annals.lock_project(project_id uuid) returns annals.project
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  known annals.project;
begin
  -- Open transactions rely on few of its columns: changes of those lock it further.
  select * into known from annals.project where id = project_id for no key update;
  if not found then
    raise no_data_found using
      message = format('there is no project %s', project_id),
      constraint = 'project_known', schema = 'annals', table = 'project';
  end if;
  return known;
end $$;

-- The same, but refuses the project annals, and waits for the transactions that append to the project.
-- Whether home's project is the project annals of a member.
create or replace function annals.is_administration_elsewhere(project_id uuid) returns boolean
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select exists (select from annals.database as d where d.id = $1 and d.id <> annals.administration())
$$;

create or replace function annals.lock_unreserved_project(project_id uuid) returns annals.project
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  known annals.project;
begin
  perform from annals.project where id = project_id for update;
  known := annals.lock_project(project_id);
  if known.name = 'annals' or annals.is_administration_elsewhere(project_id) then
    raise check_violation using
      message = format('the project %s can be neither renamed nor closed, stays, and keeps its records: it holds an administration''s own feed',
        known.name),
      constraint = 'project_reserved', schema = 'annals', table = 'project';
  end if;
  return known;
end $$;

-- The database that has a project of home; null for home.
create or replace function annals.database_of(project annals.project) returns text
language sql immutable
return case when project.placement in ('gone', 'arriving') then project.moved_to end;

-- Creates a project in this database; in home, for another database, which has it.
drop function if exists annals.create_project(text, uuid, uuid, inet);
create or replace function annals.create_project(
  name text, id uuid default annals.sequential_guid(), actor_token uuid default null,
  address inet default inet_client_addr(), database text default null) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  made annals.project;
begin
  perform annals.require_administrator(actor_token);
  insert into annals.project (id, name, placement, moved_to)
  values (id, name, case when database is null then 'here' else 'gone' end, database)
  returning * into made;
  perform annals.record_change('annals.project.create', null, made, actor_token, address);
  return made.id;
end $$;

create or replace function annals.rename_project(
  project_id uuid, name text, actor_token uuid default null, address inet default inet_client_addr()) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.project;
  new_row annals.project;
begin
  perform annals.require_administrator(actor_token);
  old_row := annals.lock_unreserved_project(project_id);
  if old_row.name = name then
    return;
  end if;
  update annals.project as p set name = name where p.id = project_id returning * into new_row;
  perform annals.record_change('annals.project.rename', old_row, new_row, actor_token, address);
end $$;

-- From its commit on, the project accepts no records. They can be read and redacted.
create or replace function annals.close_project(
  project_id uuid, actor_token uuid default null, address inet default inet_client_addr()) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.project;
  new_row annals.project;
begin
  perform annals.require_administrator(actor_token);
  old_row := annals.lock_unreserved_project(project_id);
  if old_row.closed_at is not null then
    return;
  end if;
  update annals.project as p set closed_at = clock_timestamp() where p.id = project_id returning * into new_row;
  perform annals.record_change('annals.project.close', old_row, new_row, actor_token, address);
end $$;

-- Sets all limits of a project. Each instance of the service applies them by itself; of plain SQL, the database
-- applies seconds_ahead alone.
create or replace function annals.limit_project(
  project_id uuid, limits jsonb, actor_token uuid default null, address inet default inet_client_addr()) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.project;
  new_row annals.project;
begin
  perform annals.require_administrator(actor_token);
  -- Open transactions do not rely on limits: none is waited for.
  old_row := annals.lock_project(project_id);
  if old_row.limits = limits then
    return;
  end if;
  update annals.project as p set limits = limits where p.id = project_id returning * into new_row;
  perform annals.record_change('annals.project.limit', old_row, new_row, actor_token, address);
end $$;

-- Sets the whole look of a project.
create or replace function annals.set_look(
  project_id uuid, name text, colour text, logo bytea, embedders text[], actor_token uuid default null,
  address inet default inet_client_addr()) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.look;
  new_row annals.look;
begin
  perform annals.require_administrator(actor_token);
  perform annals.lock_project(project_id);
  select * into old_row from annals.look as l where l.project_id = project_id;
  insert into annals.look as l (project_id, name, colour, logo, embedders) values (project_id, name, colour, logo, embedders)
  on conflict on constraint look_pkey do update
  set name = excluded.name, colour = excluded.colour, logo = excluded.logo, embedders = excluded.embedders
  returning * into new_row;
  if old_row is distinct from new_row then
    perform annals.record_change('annals.look.set', old_row, new_row, actor_token, address);
  end if;
end $$;

-- Every change of a token calls this first.
create or replace function annals.lock_token(project_id uuid, token_id uuid) returns annals.access_token
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  known annals.access_token;
begin
  select * into known from annals.access_token as t where t.id = token_id and t.project_id = project_id for no key update;
  if not found then
    raise no_data_found using
      message = format('project %s has no token %s', project_id, token_id),
      constraint = 'access_token_known', schema = 'annals', table = 'access_token';
  end if;
  return known;
end $$;

-- The caller draws the token and shows it once; the database stores its hash.
create or replace function annals.issue_token(
  project_id uuid, id uuid, token_hash bytea, scopes text[], description text, expires_at timestamptz,
  allowed_addresses cidr[], actor_token uuid default null, address inet default inet_client_addr()) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  made     annals.access_token;
  project  text;
begin
  perform annals.require_administrator(actor_token);
  select p.name into project from annals.project as p where p.id = project_id;
  if scopes && array['view', 'browse', 'export', 'deliver']
    or (project = 'annals') is distinct from (scopes <@ array['audit', 'admin']) and project is not null
    or annals.is_administration_elsewhere(project_id) and not scopes <@ array['read'] then
    raise check_violation using
      message = format('a token of project %s cannot have the scopes %s', project_id, scopes),
      constraint = 'access_token_scopes', schema = 'annals', table = 'access_token';
  end if;
  insert into annals.access_token (id, project_id, token_hash, scopes, description, expires_at, allowed_addresses)
  values (id, project_id, token_hash, scopes, description, expires_at, allowed_addresses)
  returning * into made;
  perform annals.record_change('annals.token.issue', null, made, actor_token, address);
end $$;

-- Makes a token with the same rights and lifetime. The old one ends after the overlap.
create or replace function annals.rotate_token(
  project_id uuid, token_id uuid, new_id uuid, token_hash bytea, overlap interval, actor_token uuid default null,
  address inet default inet_client_addr()) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row  annals.access_token;
  new_row  annals.access_token;
  made     annals.access_token;
  now      timestamptz := clock_timestamp();
begin
  perform annals.require_administrator(actor_token);
  old_row := annals.lock_token(project_id, token_id);
  if old_row.revoked_at is not null or old_row.expires_at <= now or old_row.replaced_by is not null
    or old_row.issued_by is not null then
    raise object_not_in_prerequisite_state using
      message = format('token %s has ended, was replaced before, or is that of a link', token_id),
      constraint = 'access_token_live', schema = 'annals', table = 'access_token',
      hint = 'Issue a new one.';
  end if;
  insert into annals.access_token (
    id, project_id, token_hash, scopes, description, allowed_addresses, created_at, expires_at, limits)
  values (
    new_id, project_id, token_hash, old_row.scopes, old_row.description, old_row.allowed_addresses, now,
    -- least() ignores null, which means never.
    case when old_row.expires_at is not null then
      least(now + (old_row.expires_at - old_row.created_at), '9999-12-31 00:00:00+00') end, old_row.limits)
  returning * into made;
  update annals.access_token as t
  set replaced_by = new_id, expires_at = least(t.expires_at, greatest(now + overlap, t.created_at + interval '1 us'))
  where t.id = token_id returning * into new_row;
  perform annals.record_change('annals.token.rotate', old_row, new_row, actor_token, address,
    jsonb_build_object('issued', annals.state(made)));
end $$;

create or replace function annals.revoke_token(
  project_id uuid, token_id uuid, actor_token uuid default null, address inet default inet_client_addr()) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.access_token;
  new_row annals.access_token;
begin
  perform annals.require_administrator(actor_token);
  old_row := annals.lock_token(project_id, token_id);
  if old_row.revoked_at is not null then
    return;
  end if;
  update annals.access_token as t set revoked_at = clock_timestamp(), filter = null where t.id = token_id returning * into new_row;
  perform annals.record_change('annals.token.revoke', old_row, new_row, actor_token, address);
  perform annals.pause_streams_of(new_row, actor_token, address);
end $$;

-- Sets all limits of a token, within those of its project.
create or replace function annals.limit_token(
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
  perform annals.record_change('annals.token.limit', old_row, new_row, actor_token, address);
end $$;

-- Makes the token of a viewer link, for at most a day: for the records of one subject, one actor or both, or for a whole project. The
-- latter does no more than the token that makes it.
create or replace function annals.issue_link(
  project_id uuid, id uuid, token_hash bytea, scopes text[], filter jsonb, seconds integer, actor_token uuid,
  address inet default inet_client_addr()) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  made  annals.access_token;
  now   timestamptz := clock_timestamp();
begin
  perform from annals.access_token as t
  where t.id = actor_token and t.project_id = project_id and t.revoked_at is null
    and t.scopes @> (array['link']
      || case when 'browse' = any (scopes) then array['read'] else '{}' end
      || case when 'deliver' = any (scopes) then array['stream'] else '{}' end)
    and (t.expires_at is null or t.expires_at > now)
  for share;
  if not found then
    raise insufficient_privilege using
      message = format('token %s may not make links: it has ended, or has not the scopes for this one', actor_token),
      constraint = 'access_token_administrator', schema = 'annals', table = 'access_token';
  end if;
  insert into annals.access_token (id, project_id, token_hash, scopes, created_at, expires_at, issued_by, filter)
  values (id, project_id, token_hash, scopes, now, now + make_interval(secs => seconds), actor_token, filter)
  returning * into made;
  perform annals.record_change('annals.token.link', null, made, actor_token, address);
end $$;

-- Records that tokens have expired, at most so many. Concurrent callers take others. Expired tokens are invalid before.
create or replace function annals.expire_tokens(most integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  old_row  annals.access_token;
  new_row  annals.access_token;
  expired  integer := 0;
begin
  for old_row in
    select * from annals.access_token
    where expires_at <= clock_timestamp() and expired_at is null and revoked_at is null
    order by expires_at limit most
    for no key update skip locked
  loop
    update annals.access_token set expired_at = clock_timestamp(), filter = null where id = old_row.id returning * into new_row;
    perform annals.record_change('annals.token.expire', old_row, new_row, null, null);
    if new_row.issued_by is null and new_row.replaced_by is null then
      perform annals.pause_streams_of(new_row, null, null);
    end if;
    expired := expired + 1;
  end loop;
  return expired;
end $$;

-- The hour of a token's last use is no event: there would be one for every token and hour.
create or replace function annals.note_token_use(token_ids uuid[]) returns void
language sql security definer set search_path = pg_catalog, pg_temp
as $$
  update annals.access_token set last_used_at = date_trunc('hour', statement_timestamp())
  where id in (
    select id from annals.access_token
    where id = any (token_ids)
      and (last_used_at is null or last_used_at < date_trunc('hour', statement_timestamp()))
    order by id for no key update skip locked)
$$;

-- Lets a role and its members append to a project by plain SQL.
create or replace function annals.grant_writer(role_name name, project_id uuid) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  made annals.writer_grant;
begin
  if to_regrole(quote_ident(role_name)) is null then
    raise undefined_object using message = format('role %I does not exist', role_name);
  end if;
  insert into annals.writer_grant as granted (project_id, role_name)
  values (project_id, role_name)
  on conflict do nothing
  returning * into made;
  if found then
    perform annals.record_change('annals.writer.grant', null, made, null, inet_client_addr());
  end if;
  if not pg_has_role(role_name, 'annals_writer', 'usage') then
    execute format('grant annals_writer to %I', role_name);
  end if;
end $$;

-- Ends a grant with the next statement. The role stays a member of annals_writer, which opens no project. Revoke before dropping a role:
-- a new role with its name would have its projects.
create or replace function annals.revoke_writer(role_name name, project_id uuid) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  gone annals.writer_grant;
begin
  delete from annals.writer_grant as granted
  where granted.project_id = project_id and granted.role_name = role_name
  returning * into gone;
  if not found then
    raise undefined_object using message = format('role %I is granted no project %s', role_name, project_id);
  end if;
  perform annals.record_change('annals.writer.revoke', gone, null, null, inet_client_addr());
end $$;

-- Whether the database has no project or token yet, except a restored archive.
create or replace function annals.is_new() returns boolean
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select not exists (select from annals.access_token)
    and not exists (
      select from annals.project
      where name <> 'annals' and id not in (select project_id from annals.restored_archive union all select d.id from annals.database as d))
$$;

-- The first tokens of a database and its first project; false if it has them. A null hash makes no token. If an archive was restored, the
-- first token reads it.
create or replace function annals.begin_administration(
  admin_id uuid, admin_hash bytea, project_id uuid, token_id uuid, token_hash bytea) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  restored uuid;
begin
  -- Several instances may start for the first time together.
  perform from annals.project where id = annals.administration() for update;
  if not annals.is_new() then
    return false;
  end if;
  restored := (select r.project_id from annals.restored_archive as r);
  if admin_hash is not null then
    perform annals.issue_token(annals.administration(), admin_id, admin_hash, array['admin'], 'made at the first start', null,
      '{}', null, null);
  end if;
  if restored is null then
    perform annals.create_project('default', project_id, null, null);
  end if;
  if token_hash is not null then
    perform annals.issue_token(coalesce(restored, project_id), token_id, token_hash,
      case when restored is null then array['read', 'write', 'sequence'] else array['read'] end,
      'made at the first start', null, '{}', null, null);
  end if;
  return true;
end $$;

-- Records an operation of the service that changes none of these tables; it cannot pass for a change of them.
create or replace function annals.record_operation(
  action text, subject_type text, subject_id text, outcome text, details jsonb, actor_token uuid, address inet) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if action <> all (array['annals.authentication.fail', 'annals.export.start', 'annals.projection.rebuild',
    'annals.sequence.define', 'annals.sequence.delete', 'annals.verification.fail']) then
    raise insufficient_privilege using message = format('%s is not what the service itself records', action);
  end if;
  perform annals.record_event(action, subject_type, subject_id, null, details, actor_token, address, outcome);
end $$;

-- Records the differences from the last start, in one event at most. Instances that differ take turns.
create or replace function annals.note_state(kind text, state jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_state  jsonb := '{}';
  before     jsonb;
  after      jsonb;
begin
  -- Several instances may start together.
  perform from annals.project as p where p.id = annals.administration() for no key update;
  select n.state into old_state from annals.noted_state as n where n.kind = kind;
  select
    jsonb_object_agg(name, case jsonb_typeof(was.value) when 'object' then '"secret"' else was.value end),
    jsonb_object_agg(name, case
      when is_now.value is null or jsonb_typeof(is_now.value) <> 'object' then is_now.value
      when was.value is null then '"secret"'
      else '"changed"' end)
  into before, after
  from jsonb_each(coalesce(old_state, '{}')) as was (name, value) full join jsonb_each(state) as is_now (name, value) using (name)
  where was.value is distinct from is_now.value;
  if before is null then
    return;
  end if;
  insert into annals.noted_state as n (kind, state) values (kind, state)
  on conflict on constraint noted_state_pkey do update set state = excluded.state;
  perform annals.record_event(case kind when 'settings' then 'annals.settings.change' else 'annals.log_keys.change' end,
    'service', kind, null, jsonb_build_object('before', before, 'after', after), null, null);
end $$;

create or replace function annals.grant_identity(
  project_id uuid, id uuid, issuer text, claim text, value text, scopes text[], description text, limits jsonb default '{}',
  actor_token uuid default null, address inet default inet_client_addr()) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  made     annals.identity_grant;
  project  text;
begin
  perform annals.require_administrator(actor_token);
  select p.name into project from annals.project as p where p.id = project_id;
  if (project = 'annals') is distinct from (scopes <@ array['audit', 'admin']) and project is not null
    or annals.is_administration_elsewhere(project_id) and not scopes <@ array['read'] then
    raise check_violation using
      message = format('a grant of project %s cannot have the scopes %s', project_id, scopes),
      constraint = 'identity_grant_scopes', schema = 'annals', table = 'identity_grant';
  end if;
  insert into annals.identity_grant (id, project_id, issuer, claim, value, scopes, description, limits)
  values (id, project_id, issuer, claim, value, scopes, description, limits)
  returning * into made;
  perform annals.record_change('annals.grant.make', null, made, actor_token, address);
end $$;

create or replace function annals.revoke_identity_grant(
  project_id uuid, grant_id uuid, actor_token uuid default null, address inet default inet_client_addr()) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.identity_grant;
  new_row annals.identity_grant;
begin
  perform annals.require_administrator(actor_token);
  select * into old_row from annals.identity_grant as g where g.id = grant_id and g.project_id = project_id for no key update;
  if not found then
    raise no_data_found using
      message = format('project %s has no grant %s', project_id, grant_id),
      constraint = 'identity_grant_known', schema = 'annals', table = 'identity_grant';
  end if;
  if old_row.revoked_at is not null then
    return;
  end if;
  update annals.identity_grant as g set revoked_at = clock_timestamp() where g.id = grant_id returning * into new_row;
  perform annals.record_change('annals.grant.revoke', old_row, new_row, actor_token, address);
end $$;

-- An identity signs in with claims that these grants are for. The first use of each grant leaves an event.
create or replace function annals.enter_identity(issuer text, subject text, grant_ids uuid[], address inet) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  identity_id uuid := annals.identity_id(issuer, subject);
  used        annals.identity_grant;
  made        annals.identity_entry;
begin
  for used in
    select * from annals.identity_grant as g
    where g.id = any (grant_ids) and g.issuer = issuer and g.revoked_at is null
    order by g.id for key share
  loop
    insert into annals.identity as i (id, issuer, subject) values (identity_id, issuer, subject)
    on conflict on constraint identity_pkey do update set subject = excluded.subject where i.subject is null;
    insert into annals.identity_entry (identity_id, grant_id) values (identity_id, used.id)
    on conflict do nothing
    returning * into made;
    if found then
      perform annals.record_change('annals.identity.enter', null, made, identity_id, address, jsonb_build_object('issuer', issuer));
    end if;
  end loop;
end $$;

-- Derives databases, projects, their looks, tokens, grants, holds, archives, streams, alerts, views and catalogues from the
-- administration's feed. Returns each difference to the tables, and each event that does not follow from the events before it.
create or replace function annals.administration_differences() returns table (finding text)
language plpgsql stable set search_path = pg_catalog, pg_temp set timezone = 'UTC'
as $$
begin
  return query
  with event as materialized (
    select sequence_id, action, metadata -> 'before' as before, metadata -> 'after' as after, metadata -> 'issued' as issued
    from annals.feed
    where project_id = annals.administration()
      and action = any (array['annals.project.create', 'annals.project.rename', 'annals.project.close', 'annals.project.retain',
        'annals.project.limit', 'annals.token.issue', 'annals.token.rotate', 'annals.token.revoke', 'annals.token.expire',
        'annals.token.limit', 'annals.token.link', 'annals.writer.grant', 'annals.writer.revoke', 'annals.hold.set',
        'annals.hold.lift', 'annals.grant.make', 'annals.grant.revoke', 'annals.identity.enter', 'annals.archive.note',
        'annals.stream.set', 'annals.stream.pause', 'annals.stream.resume', 'annals.stream.rewind', 'annals.stream.stop',
        'annals.stream.delete', 'annals.alert.set', 'annals.alert.delete', 'annals.view.set', 'annals.view.delete',
        'annals.catalogue.set', 'annals.action.set', 'annals.action.delete', 'annals.look.set', 'annals.database.add'])
      -- By moves of projects, and by annals reconcile.
      or project_id = annals.administration() and starts_with(action, 'annals.')
        and split_part(action, '.', 2) <> 'move' and split_part(action, '.', 3) in ('move', 'seal', 'leave', 'stay', 'arrive', 'open', 'suspend', 'place')
  ), change as materialized (
    select sequence_id, split_part(action, '.', 2) as kind, nullif(before, 'null') as before, nullif(after, 'null') as after
    from event
    union all
    select sequence_id, 'token', null, issued from event where issued is not null
  ), keyed as materialized (
    select sequence_id, kind, before, after,
      case kind
        when 'writer' then concat_ws(' ', coalesce(after, before) ->> 'role_name', coalesce(after, before) ->> 'project_id')
        when 'identity' then concat_ws(' ', coalesce(after, before) ->> 'identity_id', coalesce(after, before) ->> 'grant_id')
        when 'catalogue' then coalesce(after, before) ->> 'project_id'
        when 'action' then concat_ws(' ', coalesce(after, before) ->> 'project_id', coalesce(after, before) ->> 'name')
        else coalesce(after, before) ->> 'id' end as key
    from change
  ), chained as (
    select *, lag(after) over history as left_before, row_number() over history as number, count(*) over whole as count
    from keyed
    window history as (partition by kind, key order by sequence_id), whole as (partition by kind, key)
  ), derived as (
    select kind, key, after as state from chained where number = count and after is not null
  ), stored (kind, key, state) as (
    select 'project', id::text, annals.state(project) from annals.project as project
    union all
    select 'token', id::text, annals.state(token) from annals.access_token as token
    union all
    select 'writer', concat_ws(' ', role_name, project_id), annals.state(granted) from annals.writer_grant as granted
    union all
    select 'hold', id::text, annals.state(hold) from annals.legal_hold as hold
    union all
    select 'grant', id::text, annals.state(granted) from annals.identity_grant as granted
    union all
    select 'identity', concat_ws(' ', identity_id, grant_id), annals.state(entry) from annals.identity_entry as entry
    union all
    select 'archive', id::text, annals.state(archive) from annals.archive as archive
    union all
    select 'stream', id::text, annals.state(stream) from annals.stream as stream
    union all
    select 'alert', id::text, annals.state(alert) from annals.alert as alert
    union all
    select 'catalogue', project_id::text, annals.state(catalogue) from annals.catalogue as catalogue
    union all
    select 'action', concat_ws(' ', project_id, name), annals.state(action) from annals.catalogue_action as action
    union all
    select 'view', id::text, annals.state(saved) from annals.saved_view as saved
    union all
    select 'look', project_id::text, annals.state(look) from annals.look as look
    union all
    select 'database', id::text, annals.state(added) from annals.database as added
  )
  select format('event %s (%s %s) does not follow from the one before it: %s, not %s',
    sequence_id, kind, key, coalesce(before::text, 'nothing'), coalesce(left_before::text, 'nothing'))
  from chained where before is distinct from left_before
  union all
  select format('%s %s is %s by its events, and %s in its table',
    kind, key, coalesce(derived.state::text, 'nothing'), coalesce(stored.state::text, 'nothing'))
  from derived full join stored using (kind, key)
  where derived.state is distinct from stored.state;
end $$;
