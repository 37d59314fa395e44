-- Identities: people and programs that an OpenID provider vouches for, by signed tokens. What they may do is said by grants: one
-- claim, such as {"groups": "auditors"}, opens one project, with some scopes. The service checks the signatures, and which
-- claims somebody has.
--
-- Grants and their use have their events in the administration's feed, as everything in V11 has. A grant never changes: it is
-- revoked, and another one made.

create table annals.identity_grant (
  id           uuid           not null,
  project_id   uuid           not null,
  -- The provider that has to say so.
  issuer       varchar(1024)  not null,
  -- A claim, and its value, or one of its values.
  claim        varchar(255)   not null,
  value        varchar(1024)  not null,
  scopes       text[]         not null,
  description  varchar(1024),
  -- Of each identity by itself, within those of the project.
  limits       jsonb          not null default '{}',
  created_at   timestamptz    not null default clock_timestamp(),
  revoked_at   timestamptz,
  constraint identity_grant_pkey primary key (id),
  constraint identity_grant_project_fkey foreign key (project_id) references annals.project (id),
  constraint identity_grant_whom check (issuer <> '' and claim <> '' and value <> ''),
  constraint identity_grant_scopes check (
    (scopes <@ array['read', 'write', 'sequence', 'redact', 'stream'] or scopes <@ array['audit', 'admin'])
    and cardinality(scopes) between 1 and 5),
  constraint identity_grant_limits check (annals.are_limits(limits))
);
create index identity_grant_project_idx on annals.identity_grant (project_id, id);
create index identity_grant_claim_idx on annals.identity_grant (issuer, claim, value) where revoked_at is null;

-- Whoever came by at least one grant. No event has the subject, so the schema's owner may set it to null where a person is to be
-- forgotten. Who knows the subject recognizes the id all the same.
create table annals.identity (
  id          uuid           not null,
  issuer      varchar(1024)  not null,
  -- What the provider calls it.
  subject     varchar(1024),
  created_at  timestamptz    not null default clock_timestamp(),
  constraint identity_pkey primary key (id),
  constraint identity_id check (id = annals.identity_id(issuer, subject)),
  constraint identity_subject check (subject <> '')
);

-- Which grant each identity has used.
create table annals.identity_entry (
  identity_id  uuid         not null,
  grant_id     uuid         not null,
  created_at   timestamptz  not null default clock_timestamp(),
  constraint identity_entry_pkey primary key (identity_id, grant_id),
  constraint identity_entry_identity_fkey foreign key (identity_id) references annals.identity (id),
  constraint identity_entry_grant_fkey foreign key (grant_id) references annals.identity_grant (id)
);
create index identity_entry_grant_idx on annals.identity_entry (grant_id);

create function annals.identity_grant_state(granted annals.identity_grant) returns jsonb
language sql stable set timezone = 'UTC'
as $$
  select jsonb_build_object('id', granted.id, 'project_id', granted.project_id, 'issuer', granted.issuer,
    'claim', granted.claim, 'value', granted.value, 'scopes', granted.scopes, 'description', granted.description,
    'limits', granted.limits, 'created_at', granted.created_at, 'revoked_at', granted.revoked_at)
  where granted.id is not null
$$;

create function annals.identity_entry_state(entry annals.identity_entry) returns jsonb
language sql stable set timezone = 'UTC'
as $$
  select jsonb_build_object('identity_id', entry.identity_id, 'grant_id', entry.grant_id, 'created_at', entry.created_at)
  where entry.identity_id is not null
$$;

create function annals.grant_identity(
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
  if (project = 'annals') is distinct from (scopes <@ array['audit', 'admin']) and project is not null then
    raise check_violation using
      message = format('a grant of project %s cannot have the scopes %s', project_id, scopes),
      constraint = 'identity_grant_scopes', schema = 'annals', table = 'identity_grant';
  end if;
  insert into annals.identity_grant (id, project_id, issuer, claim, value, scopes, description, limits)
  values (id, project_id, issuer, claim, value, scopes, description, limits)
  returning * into made;
  perform annals.record_event('annals.grant.make', 'grant', made.id::text, null,
    jsonb_build_object('before', null, 'after', annals.identity_grant_state(made)), actor_token, address);
end $$;

create function annals.revoke_identity_grant(
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
  perform annals.record_event('annals.grant.revoke', 'grant', grant_id::text, null,
    jsonb_build_object('before', annals.identity_grant_state(old_row), 'after', annals.identity_grant_state(new_row)),
    actor_token, address);
end $$;

-- Somebody comes, with claims that these grants are for. Each grant leaves one event when somebody first uses it.
create function annals.enter_identity(issuer text, subject text, grant_ids uuid[], address inet) returns void
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
      perform annals.record_event('annals.identity.enter', 'identity', identity_id::text, null,
        jsonb_build_object('before', null, 'after', annals.identity_entry_state(made), 'issuer', issuer), identity_id, address);
    end if;
  end loop;
end $$;
