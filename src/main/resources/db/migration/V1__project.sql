-- Roles, projects and their access tokens.
--
-- Everything lives in the schema annals, so that it can stand inside an application's own database.

-- Two roles, neither of which can log in: they are granted to users.
--   annals_writer   for applications: appends records by plain SQL, and can do nothing else
--   annals_service  what the service runs as, once its migrations are done
-- Roles belong to the whole cluster, so another database of it may have made them already.
do $$
declare
  role_name text;
begin
  foreach role_name in array array['annals_writer', 'annals_service'] loop
    begin
      if not exists (select from pg_catalog.pg_roles where rolname = role_name) then
        execute format('create role %I nologin', role_name);
      end if;
    exception
      when duplicate_object or unique_violation then
        null; -- another database of the cluster was migrated at the same moment
    end;
  end loop;
  -- The service logs in as the owner of this schema and becomes annals_service. In PostgreSQL 16 and newer only a superuser
  -- can do so without this grant; not even the role's creator can.
  if not (select rolsuper from pg_catalog.pg_roles where rolname = current_user) then
    begin
      execute format('grant annals_service to %I', current_user);
    exception
      when insufficient_privilege then
        null; -- made by another user of the cluster, whose administrator has to grant it
    end;
  end if;
end $$;

create table annals.project (
  id          uuid        not null,
  -- The project annals is the schema's own: its feed holds what was done to projects and tokens (see V11).
  name        text        not null,
  created_at  timestamptz not null default clock_timestamp(),
  -- From then on it takes no more records.
  closed_at   timestamptz,
  constraint project_pkey primary key (id),
  constraint project_name_key unique (name),
  constraint project_name_length check (char_length(name) between 1 and 255),
  -- Projects are named by their id or by their name.
  constraint project_name_no_other_id check (name = id::text or name !~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'),
  constraint project_name_reserved check (name = 'annals' or lower(btrim(name)) <> 'annals')
);

-- A row stays when its token has ended: records name the token that they came with.
create table annals.access_token (
  id                 uuid        not null,
  -- Tokens of administrators and auditors belong to the project annals.
  project_id         uuid        not null,
  -- SHA-256 of the token. The token itself is 256 bits of a secure generator, so a plain hash is enough.
  token_hash         bytea       not null,
  scopes             text[]      not null,
  -- Where it may be used; empty: everywhere.
  allowed_addresses  cidr[]      not null default '{}',
  description        text,
  created_at         timestamptz not null default clock_timestamp(),
  expires_at         timestamptz,
  revoked_at         timestamptz,
  -- When its expiry was recorded.
  expired_at         timestamptz,
  -- The token that was made to take its place.
  replaced_by        uuid,
  -- The hour in which it was last used.
  last_used_at       timestamptz,
  constraint access_token_pkey primary key (id),
  constraint access_token_hash_key unique (token_hash),
  constraint access_token_project_fkey foreign key (project_id) references annals.project (id),
  constraint access_token_hash_length check (octet_length(token_hash) = 32),
  constraint access_token_scopes check (
    (scopes <@ array['read', 'write', 'sequence', 'redact'] or scopes <@ array['audit', 'admin'])
    and cardinality(scopes) between 1 and 4),
  constraint access_token_allowed_addresses check (
    cardinality(allowed_addresses) <= 16 and array_position(allowed_addresses, null) is null),
  constraint access_token_description_length check (char_length(description) <= 1024),
  constraint access_token_expires_at check (expires_at > created_at and expires_at < '10000-01-01 00:00:00+00')
) with (fillfactor = 80); -- room for the hour of its last use
create index access_token_project_idx on annals.access_token (project_id, id);
-- Those whose expiry is still to be recorded.
create index access_token_expires_at_idx on annals.access_token (expires_at)
  where expires_at is not null and expired_at is null and revoked_at is null;

-- Who may append to a project by plain SQL, besides the schema's owner and annals_service: these roles and their members.
-- The right to insert into annals.audit_record (annals_writer) does not include any project.
create table annals.writer_grant (
  project_id  uuid         not null,
  -- By name, so that a dump can be restored before the role exists. Revoke before you drop a role: a new role with the same
  -- name would have its projects.
  role_name   varchar(63)  not null,
  created_at  timestamptz  not null default clock_timestamp(),
  constraint writer_grant_pkey primary key (project_id, role_name),
  constraint writer_grant_project_fkey foreign key (project_id) references annals.project (id)
);

-- Whether the session may append to a project. For functions that run as the schema's owner, in which current_user is that
-- owner. It checks who logged in: neither SET ROLE nor any function can change session_user.
create function annals.may_write(project_id uuid) returns boolean
language plpgsql stable
as $$
begin
  return pg_catalog.pg_has_role(session_user, current_user, 'member')
    or exists (
      select from annals.writer_grant as granted
      where granted.project_id operator(pg_catalog.=) $1
        and pg_catalog.pg_has_role(
          session_user, pg_catalog.to_regrole(pg_catalog.quote_ident(granted.role_name)), 'member'))
    or pg_catalog.pg_has_role(session_user, 'annals_service', 'member');
end $$;

create function annals.refuse_writer(project_id uuid) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  raise insufficient_privilege using
    message = format('role %I may not append to project %s', session_user, project_id),
    hint = format('As the owner of the schema: select annals.grant_writer(%L, %L);', session_user, project_id);
end $$;
