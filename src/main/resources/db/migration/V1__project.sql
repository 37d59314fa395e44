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

-- Limits on the use of the service, by their names; what is not named has no limit. See V14.
create function annals.are_limits(limits jsonb) returns boolean
language sql immutable
return jsonb_typeof(limits) = 'object' and not exists (
  select from jsonb_each(case jsonb_typeof(limits) when 'object' then limits else '{}' end) as given(name, value)
  where case
    when jsonb_typeof(value) <> 'number' then true
    when name = any (array['records_per_second', 'requests_per_second'])
      then value::numeric not between 1 and 1000000 or value::numeric % 1 <> 0
    when name = 'bytes_per_second' then value::numeric not between 1 and 1000000000 or value::numeric % 1 <> 0
    when name = any (array['streams', 'exports']) then value::numeric not between 0 and 1000000 or value::numeric % 1 <> 0
    else true
  end);

-- Names that look like the schema's own are refused, so that no reader takes another event for one of the administration's.
--
-- A name as a reader sees it: without what is invisible, accents and space, and in place of each character that looks like a letter
-- of "annals." that letter. The tables are confusables.txt of UTS #39 (15.0) for those letters, as far as NFKD does not cover it, some
-- more that look alike, and what Unicode got later, which an older PostgreSQL does not decompose. Letters of other scripts stay, so
-- that a name may say more than "annals" with them. Neither the database's locale nor its version matters. The service has
-- the same in LookAlikes.
create function annals.skeleton(name text) returns text
language sql immutable strict parallel safe
return regexp_replace(
  translate(translate(translate(translate(translate(
    replace(replace(normalize(name, nfkd), E'\u02AA', 'ls'), E'\U00010799', 'ls'),
      E'A\u023A\u0251\u0252\u0391\u03B1\u0410\u0430\u13AA\u15C5\u15E9\u1D00\u1D8F\u2376\u237A\u2C65\u2C6D\u2C80'
       '\u2C81\uA4EE\uAB30\uAB7A\U000102A0\U00010300\U00016F40\U0001CCD6\U0001E030\U0001E051\U0001F150\U0001F170'
       '\U0001F1E6', repeat('a', 99)),
      E'N\u014A\u014B\u019D\u019E\u0220\u0235\u0272\u0273\u0274\u039D\u03B7\u043F\u0578\u057C\u144E\u1D70\u1D87'
       '\u2C9A\u2C9B\uA4E0\uA790\uA791\uA7A4\uA7A5\U0001018E\U00010513\U0001CCE3\U0001E03D\U0001E05D\U0001F15D'
       '\U0001F17D\U0001F1F3', repeat('n', 99)),
      E'1IL|\u0131\u0141\u0142\u0196\u0197\u019A\u01C0\u0234\u023D\u026B\u026C\u026D\u029F\u0399\u0406\u04C0\u04CF'
       '\u05C0\u05D5\u05DF\u0627\u0661\u06F1\u07CA\u13DE\u14AA\u16C1\u18F3\u1D0C\u1D85\u2223\u23AE\u23D0\u23FD\u2502'
       '\u2503\u2758\u2759\u2C60\u2C61\u2C62\u2C92\u2CD0\u2CD1\u2D4F\uA4E1\uA4F2\uA748\uA749\uA78E\uA7AD\uABAE'
       '\U0001028A\U00010309\U00010320\U0001041B\U00010443\U00010526\U0001079B\U0001079D\U000107B6\U000118A3'
       '\U000118B2\U00016F16\U00016F28\U0001CCDE\U0001CCE1\U0001CCF1\U0001D22A\U0001E050\U0001E8C7\U0001F158'
       '\U0001F15B\U0001F178\U0001F17B\U0001F1EE\U0001F1F1', repeat('l', 99)),
      E'S\u01A7\u01A8\u01BD\u023F\u0282\u0405\u0455\u054F\u0D1F\u13D5\u13DA\u1515\u18F5\u1D74\u1D8A\u2C7E\uA4E2'
       '\uA731\uA784\uA785\uA7A8\uA7A9\uA7C5\uA7C9\uA7CA\uA7F1\uAB95\uABAA\U00010296\U00010420\U00010448\U000118C1'
       '\U00016F3A\U0001CCE8\U0001E069\U0001F162\U0001F182\U0001F1F8', repeat('s', 99)),
      E'\u00B7\u0660\u06D4\u06F0\u0701\u0702\u1362\u1427\u166E\u2022\u2027\u2219\u22C5\u2E31\u2E33\u2E3C\u3002\u30FB'
       '\uA4F8\uA4FA\uA60E\uA78F\U00010A50\U0001D16D', repeat('.', 99)) collate "C",
  E'[^!-~\u00C0-\u02AF\u0370-\u0481\u048A-\u058F\u05D0-\u05EA\u0620-\u064A\u0671-\u06D3\u0904-\u0939\u0E01-\u0E30'
    || E'\u10A0-\u115E\u1161-\u11FF\u3041-\u3096\u30A1-\u30FA\u3105-\u312F\u3400-\uA4CF\U00020000-\U0003FFFF]', '', 'g');

-- Whether it begins like what only the schema's functions record. Few actions begin with a letter that has to be looked at closely.
create function annals.is_reserved(action text) returns boolean
language sql immutable strict parallel safe
return case
  when ascii(action) between 33 and 126 and ascii(action) <> all (array[65, 97]) then false
  else starts_with(annals.skeleton(action), 'annals.')
end;

create table annals.project (
  id          uuid        not null,
  -- The project annals is the schema's own: its feed holds what was done to projects and tokens (see V11).
  name        text        not null,
  created_at  timestamptz not null default clock_timestamp(),
  -- From then on it takes no more records.
  closed_at   timestamptz,
  -- For how many days it keeps its records; null: for ever (see V12).
  retention_days  integer,
  -- Whether they have to be in an archive first (see V16).
  archive_required  boolean   not null default false,
  -- Of all its tokens together, in each instance of the service.
  limits      jsonb       not null default '{}',
  constraint project_pkey primary key (id),
  constraint project_name_key unique (name),
  constraint project_name_length check (char_length(name) between 1 and 255),
  -- Projects are named by their id or by their name.
  constraint project_name_no_other_id check (name = id::text or name !~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'),
  constraint project_name_reserved check (name = 'annals' or annals.skeleton(name) <> 'annals'),
  constraint project_retention_days check (retention_days between 1 and 36500),
  constraint project_retention_reserved check (name <> 'annals' or retention_days is null and not archive_required),
  constraint project_limits check (annals.are_limits(limits))
);

-- Those whose records expire.
create index project_retained_idx on annals.project (id) where retention_days is not null;

-- Whoever comes by way of an OpenID provider (see V15) is named by the first 122 bits of a SHA-256, as a UUID of version 8.
-- Nothing else has such an id, so what names a token may name an identity.
create function annals.identity_id(issuer text, subject text) returns uuid
language sql immutable parallel safe set search_path = pg_catalog, pg_temp
as $$
  select encode(set_byte(set_byte(digest, 6, get_byte(digest, 6) & 15 | 128), 8, get_byte(digest, 8) & 63 | 128), 'hex')::uuid
  from substr(sha256(convert_to(issuer, 'UTF8') || E'\\x00'::bytea || convert_to(subject, 'UTF8')), 1, 16) as digest
$$;

create function annals.is_identity_id(id uuid) returns boolean
language sql immutable parallel safe
return substr(id::text, 15, 1) = '8';

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
  -- Of this token alone, within those of its project.
  limits             jsonb       not null default '{}',
  -- Of the token of a viewer link (see V14): the token that made it, with which it ends, and the records that it may read:
  -- {"subject_id": …} or {"actor_id": …} or both. Who that is, is forgotten once the link has ended.
  issued_by          uuid,
  filter             jsonb,
  -- The hour in which it was last used.
  last_used_at       timestamptz,
  constraint access_token_pkey primary key (id),
  constraint access_token_hash_key unique (token_hash),
  constraint access_token_id check (not annals.is_identity_id(id)),
  constraint access_token_project_fkey foreign key (project_id) references annals.project (id),
  constraint access_token_hash_length check (octet_length(token_hash) = 32),
  constraint access_token_scopes check (
    (scopes <@ array['read', 'write', 'sequence', 'redact', 'link', 'stream'] or scopes <@ array['audit', 'admin'] or scopes = array['view'])
    and cardinality(scopes) between 1 and 6),
  -- The scope of a link is nobody else's, and nothing of it is without an end or a filter.
  constraint access_token_link check (
    case when 'view' = any (scopes)
      then issued_by is not null and coalesce(expires_at <= created_at + interval '1 day', false)
        and (filter is not null or revoked_at is not null or expired_at is not null)
      else issued_by is null and filter is null end),
  constraint access_token_filter check (
    jsonb_typeof(filter) = 'object' and filter <> '{}' and filter - array['subject_id', 'actor_id'] = '{}'
    and coalesce(jsonb_typeof(filter -> 'subject_id'), 'string') = 'string' and filter ->> 'subject_id' is distinct from ''
    and coalesce(jsonb_typeof(filter -> 'actor_id'), 'string') = 'string' and filter ->> 'actor_id' is distinct from ''),
  constraint access_token_allowed_addresses check (
    cardinality(allowed_addresses) <= 16 and array_position(allowed_addresses, null) is null),
  constraint access_token_description_length check (char_length(description) <= 1024),
  constraint access_token_limits check (annals.are_limits(limits)),
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
