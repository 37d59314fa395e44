-- Projects, their access tokens, and the records.
--
-- Everything lives in the schema annals, so that it can stand inside an application's own database.
-- A plain SQL writer needs no more than
--   insert into annals.audit_record (project_id, action, message) values (…);

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
  -- The service logs in as the owner of this schema and becomes annals_service. PostgreSQL 16 and newer let nobody but
  -- a superuser do so without this grant, not even the role's creator.
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
  name        text        not null,
  created_at  timestamptz not null default clock_timestamp(),
  constraint project_pkey primary key (id),
  constraint project_name_key unique (name),
  constraint project_name_length check (char_length(name) between 1 and 255)
);

create table annals.access_token (
  id           uuid        not null,
  -- null for the admin token, which belongs to no project
  project_id   uuid,
  -- SHA-256 of the token. The token itself is 256 bits of a secure generator, so a plain hash is enough.
  token_hash   bytea       not null,
  scopes       text[]      not null,
  description  text,
  created_at   timestamptz not null default clock_timestamp(),
  constraint access_token_pkey primary key (id),
  constraint access_token_hash_key unique (token_hash),
  constraint access_token_project_fkey foreign key (project_id) references annals.project (id),
  constraint access_token_hash_length check (octet_length(token_hash) = 32),
  constraint access_token_scopes check (
    case when project_id is null then scopes = array['admin']
    else scopes <@ array['read', 'write'] and cardinality(scopes) between 1 and 2 end),
  constraint access_token_description_length check (char_length(description) <= 1024)
);
-- However many instances start for the first time together, one makes the admin token.
create unique index access_token_one_admin_idx on annals.access_token ((true)) where project_id is null;

-- A UUIDv7 (RFC 9562) for writers that come without one: 48 bits of Unix milliseconds, 12 bits of their fraction,
-- 62 random bits. Time comes first, so new keys land near the end of the index.
-- (The last 17 characters of a random UUID bring the variant with them.)
create function annals.sequential_guid() returns uuid
language sql volatile parallel safe
return (
  with clock (milliseconds) as (
    select extract(epoch from clock_timestamp()) * 1000
  )
  select (
      lpad(to_hex(trunc(milliseconds)::bigint), 12, '0')
      || '7'
      || lpad(to_hex(trunc((milliseconds - trunc(milliseconds)) * 4096)::integer), 3, '0')
      || right(gen_random_uuid()::text, 17)
    )::uuid
  from clock
);

-- Numbers for annals.shared_append_id(). A session takes 256 at a time.
create sequence annals.shared_append_number as bigint minvalue 0 start with 0 cache 256;

-- Records of plain SQL writers learn their append while they are inserted, before anything can know how many their
-- statement brings. So up to 256 consecutive records of one session share an append id (a UUIDv8), whatever
-- statements they come from; from there the way to a record's place is short.
create function annals.shared_append_id() returns uuid
language sql volatile
return ('0000000000008000' || to_hex(nextval('annals.shared_append_number') / 256 | -9223372036854775808))::uuid;

-- The records. They carry no sequence id: a record is never updated, not even to number it. Its place is the number
-- of its segment (see V2) and its position there; the view annals.feed shows both together.
-- The columns stand in the order of their alignment, widest first.
--
-- Lengths are varchar's, and the other rules one constraint, because PostgreSQL parses a table's check constraints anew
-- for every statement: as ten constraints they cost a single-row insert a third of its time.
create table annals.audit_record (
  project_id    uuid          not null,
  -- A sequential GUID, drawn before the insert: the service's from its own generator, otherwise this default.
  id            uuid          not null default annals.sequential_guid(),
  append_id     uuid          not null default annals.shared_append_id(),
  -- When it happened, as the writer says; and when the database took it in.
  "timestamp"   timestamptz   not null default clock_timestamp(),
  recorded_at   timestamptz   not null default clock_timestamp(),
  action        varchar(255)  not null,
  actor_type    varchar(255),
  actor_id      varchar(1024),
  actor_name    varchar(1024),
  subject_type  varchar(255),
  subject_id    varchar(1024),
  subject_name  varchar(1024),
  outcome       varchar(64),
  ip_address    inet,
  message       text,
  metadata      jsonb,
  -- No foreign key to project: it would lock the project's row for every record. Placing an append checks the project,
  -- once per append.
  constraint audit_record_pkey primary key (project_id, id),
  constraint audit_record_values check (
    action <> '' and outcome <> ''
    -- years that a four-digit year can name
    and "timestamp" >= '0001-01-01 00:00:00+00' and "timestamp" < '10000-01-01 00:00:00+00'
    and octet_length(message) <= 65535
    and jsonb_typeof(metadata) = 'object' and pg_column_size(metadata) <= 131072)
);
