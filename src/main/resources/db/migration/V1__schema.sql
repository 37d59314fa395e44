-- The tables of Annals, their types and their constraints. Functions, views and triggers are in the repeatable migrations R__*.sql;
-- here are only those functions that a default, a type, a constraint or an index names.
--
-- Texts that an index has as a key are in "C". The order of other collations changes with the C library or ICU of the server, unseen, and an
-- index then lacks rows that it has.
--
-- From the first release on this file does not change: a later change of a table is a new version.

-- --- Projects, tokens and grants -----------------------------------------------------------------------------------------

-- The limits on use by their names. A limit that is absent does not apply.
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
    when name = 'seconds_ahead' then value::numeric not between 0 and 31536000 or value::numeric % 1 <> 0
    else true
  end);

-- A name as a reader sees it: without invisible characters, accents and space, with each look-alike of a letter of "annals." replaced
-- by that letter. The tables are confusables.txt of UTS #39 (15.0) for those letters beyond NFKD, further look-alikes, and newer
-- characters that an older PostgreSQL does not decompose. Other letters stay, so a name may say more than "annals". The result
-- depends neither on the locale nor on the version. AuditRecord does the same in the service.
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

-- Whether an action looks like one of the schema's own. A check of an action costs an INSERT next to nothing. PostgreSQL puts a function that is not strict in the place of its call, and an
-- action in ASCII needs no skeleton: the pattern has what the skeleton makes of each of its characters.
create function annals.is_reserved(action text) returns boolean
language sql immutable parallel safe
return case
  when ascii(action) between 33 and 126 and ascii(action) <> all (array[65, 97]) then false
  when octet_length(action) = length(action) then action collate "C" ~
    '^[^!-~]*[Aa][^!-~]*[Nn][^!-~]*[Nn][^!-~]*[Aa][^!-~]*[1ILl|][^!-~]*[Ss][^!-~]*\.'
  else starts_with(annals.skeleton(action), 'annals.')
end;

create table annals.project (
  id          uuid        not null,
  -- The project annals holds the administration's feed.
  name        text collate "C" not null,
  created_at  timestamptz not null default clock_timestamp(),
  -- It accepts no records since.
  closed_at   timestamptz,
  -- Null: records are kept for ever.
  retention_days  integer,
  -- Whether records must be in an archive before they are removed.
  archive_required  boolean   not null default false,
  -- For all its tokens together, in each instance of the service.
  limits      jsonb       not null default '{}',
  -- Whether this database has the project: 'here'; 'arriving', which is written by a move alone; 'sealed', which accepts nothing while the
  -- last records leave; 'gone'. A move has a greater epoch than the one before. moved_to names the database that has the project; of a
  -- sealed one, the database that will have it. is_moving from the begin of a move to its end: nothing expires.
  placement        text collate "C" not null default 'here',
  placement_epoch  bigint not null default 0,
  moved_to         text collate "C",
  is_moving        boolean not null default false,
  constraint project_pkey primary key (id),
  constraint project_name_key unique (name),
  constraint project_name_length check (char_length(name) between 1 and 255),
  -- A project is addressed by its id or its name.
  constraint project_name_no_other_id check (name = id::text or name !~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'),
  constraint project_name_reserved check (name = 'annals' or annals.skeleton(name) <> 'annals'),
  constraint project_retention_days check (retention_days between 1 and 36500),
  constraint project_retention_reserved check (name <> 'annals' or retention_days is null and not archive_required),
  constraint project_limits check (annals.are_limits(limits)),
  constraint project_placement check (placement in ('here', 'arriving', 'sealed', 'gone')),
  constraint project_placement_reserved check (name <> 'annals' or placement = 'here'),
  constraint project_placement_epoch check (placement_epoch >= 0),
  constraint project_moved_to check ((placement = 'here') = (moved_to is null) and moved_to ~ '^[a-z][a-z0-9_-]{0,62}$')
);
create index project_retained_idx on annals.project (id) where retention_days is not null;
-- Of home: where the projects are that members have.
create index project_elsewhere_idx on annals.project (id, placement, placement_epoch, moved_to)
  where placement in ('gone', 'arriving');

-- In home: its members. In a member: itself.
create table annals.database (
  -- Of the database's project annals, which no other has.
  id        uuid        not null,
  name      text collate "C" not null,
  added_at  timestamptz not null default clock_timestamp(),
  constraint database_pkey primary key (id),
  constraint database_name_key unique (name),
  constraint database_name check (name ~ '^[a-z][a-z0-9-]{0,30}$')
);

-- The end of another database's administration's feed and log, as it was last noted: home notes its members, and a member its home. A
-- database that lacks what was noted was set back.
create table annals.database_end (
  -- Of its project annals.
  id           uuid         not null,
  incarnation  text         not null,
  head         bigint       not null,
  mark         integer      not null,
  log_size     bigint       not null,
  log_root     bytea        not null,
  noted_at     timestamptz  not null default clock_timestamp(),
  constraint database_end_pkey primary key (id)
);

-- The incarnation of this database that was compared with the other databases of the service. No row: the service has no other.
create table annals.admission (
  -- One row at most. A table without a primary key refuses updates once a publication has all tables.
  one          boolean      not null default true,
  incarnation  text         not null,
  admitted_at  timestamptz  not null default clock_timestamp(),
  constraint admission_pkey primary key (one),
  constraint admission_one check (one)
);

-- The id of an identity: the first 122 bits of a SHA-256, as a UUIDv8. No token has such an id, so a column that names a token may
-- name an identity.
create function annals.identity_id(issuer text, subject text) returns uuid
language sql immutable parallel safe set search_path = pg_catalog, pg_temp
as $$
  select encode(set_byte(set_byte(digest, 6, get_byte(digest, 6) & 15 | 128), 8, get_byte(digest, 8) & 63 | 128), 'hex')::uuid
  from substr(sha256(convert_to(issuer, 'UTF8') || E'\\x00'::bytea || convert_to(subject, 'UTF8')), 1, 16) as digest
$$;

create function annals.is_identity_id(id uuid) returns boolean
language sql immutable parallel safe
return substr(id::text, 15, 1) = '8';

-- Rows of ended tokens stay: records name the token that wrote them.
create table annals.access_token (
  id                 uuid        not null,
  -- Tokens of administrators and auditors belong to the project annals.
  project_id         uuid        not null,
  -- SHA-256. A token is 256 random bits, so a plain hash is enough.
  token_hash         bytea       not null,
  scopes             text[]      not null,
  -- The addresses that may use it; empty: all.
  allowed_addresses  cidr[]      not null default '{}',
  description        text,
  created_at         timestamptz not null default clock_timestamp(),
  expires_at         timestamptz,
  revoked_at         timestamptz,
  expired_at         timestamptz,
  replaced_by        uuid,
  -- Within those of its project.
  limits             jsonb       not null default '{}',
  -- For the token of a viewer link: the token that made it, with which it ends, and its records: {"subject_id": …, "actor_id": …}
  -- or one of the two; none for a whole project. The filter is removed when the link ends.
  issued_by          uuid,
  filter             jsonb,
  -- The hour of its last use.
  last_used_at       timestamptz,
  constraint access_token_pkey primary key (id),
  constraint access_token_hash_key unique (token_hash),
  constraint access_token_id check (not annals.is_identity_id(id)),
  constraint access_token_project_fkey foreign key (project_id) references annals.project (id),
  constraint access_token_hash_length check (octet_length(token_hash) = 32),
  constraint access_token_scopes check (
    (scopes <@ array['read', 'write', 'sequence', 'redact', 'link', 'stream'] or scopes <@ array['audit', 'admin']
      or 'view' = any (scopes) and scopes <@ array['view', 'export']
      or 'browse' = any (scopes) and scopes <@ array['browse', 'export', 'deliver'])
    and cardinality(scopes) between 1 and 6),
  -- Only a link has the scope view, with a filter, or browse; each has an end.
  constraint access_token_link check (
    case when scopes && array['view', 'browse']
      then issued_by is not null and coalesce(expires_at <= created_at + interval '1 day', false)
        and (filter is not null) = ('view' = any (scopes) and revoked_at is null and expired_at is null)
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
-- Tokens whose expiry is still to be recorded.
create index access_token_expires_at_idx on annals.access_token (expires_at)
  where expires_at is not null and expired_at is null and revoked_at is null;

-- How the viewer shows a project to an application's customers.
create table annals.look (
  project_id  uuid         not null,
  name        varchar(80),
  colour      varchar(7),
  -- A PNG, JPEG or WebP image, which the service checks.
  logo        bytea,
  -- The origins of pages that may show links of the project in a frame: sources of the directive frame-ancestors.
  embedders   text[]       not null default '{}',
  constraint look_pkey primary key (project_id),
  constraint look_project_fkey foreign key (project_id) references annals.project (id),
  constraint look_name check (name <> ''),
  constraint look_colour check (colour ~ '^#[0-9a-f]{6}$'),
  constraint look_logo_length check (octet_length(logo) between 1 and 32768),
  constraint look_embedders check (
    cardinality(embedders) <= 16 and array_position(embedders, null) is null and array_position(embedders, '') is null
    and array_to_string(embedders, ' ') ~ '^(https://[a-z0-9.-]{1,253}(:[0-9]{1,5})?( (?!$)|$))*$')
);

-- The roles that may append to a project by plain SQL, with their members, besides the schema's owner and annals_service. annals_writer
-- alone opens no project.
create table annals.writer_grant (
  project_id  uuid         not null,
  -- By name, so that a dump can be restored before the role exists.
  role_name   varchar(63) collate "C" not null,
  created_at  timestamptz  not null default clock_timestamp(),
  constraint writer_grant_pkey primary key (project_id, role_name),
  constraint writer_grant_project_fkey foreign key (project_id) references annals.project (id)
);

-- Grants to identities: a claim, such as {"groups": "auditors"}, opens a project with some scopes. The service checks signatures and
-- claims. A grant never changes: it is revoked, and another one made.
create table annals.identity_grant (
  id           uuid           not null,
  project_id   uuid           not null,
  issuer       varchar(1024) collate "C" not null,
  -- A claim, and its value or one of its values.
  claim        varchar(255) collate "C" not null,
  value        varchar(1024) collate "C" not null,
  scopes       text[]         not null,
  description  varchar(1024),
  -- For each identity, within those of the project.
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

-- Identities that used at least one grant. No event contains the subject, so the owner may set it to null to forget a person. The id
-- can be recomputed from the subject.
create table annals.identity (
  id          uuid           not null,
  issuer      varchar(1024)  not null,
  -- The provider's name for it.
  subject     varchar(1024),
  created_at  timestamptz    not null default clock_timestamp(),
  constraint identity_pkey primary key (id),
  constraint identity_id check (id = annals.identity_id(issuer, subject)),
  constraint identity_subject check (subject <> '')
);

-- The grants that each identity has used.
create table annals.identity_entry (
  identity_id  uuid         not null,
  grant_id     uuid         not null,
  created_at   timestamptz  not null default clock_timestamp(),
  constraint identity_entry_pkey primary key (identity_id, grant_id),
  constraint identity_entry_identity_fkey foreign key (identity_id) references annals.identity (id),
  constraint identity_entry_grant_fkey foreign key (grant_id) references annals.identity_grant (id)
);
create index identity_entry_grant_idx on annals.identity_entry (grant_id);

-- The settings and keys that the service found at its last start. Secrets are fingerprints of 16 bits, {"secret": "…"}, and never in
-- an event.
create table annals.noted_state (
  kind   text collate "C" not null,
  state  jsonb  not null,
  constraint noted_state_pkey primary key (kind),
  constraint noted_state_kind check (kind in ('settings', 'log_keys')),
  constraint noted_state_length check (octet_length(state::text) <= 65536)
);

-- --- Records, appends and segments -----------------------------------------------------------------------------------------

-- A UUIDv7 (RFC 9562): 48 bits of Unix milliseconds, 12 bits of their fraction, 62 random bits. Time comes first, so new keys land near
-- the end of the index. The last 17 characters of a random UUID include the variant.
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

-- Numbers for shared_append_id(). A session takes 256 at a time.
create sequence annals.shared_append_number as bigint minvalue 0 start with 0 cache 256;

-- A column's type limits its values: PostgreSQL parses a table's checks for every statement, a domain's once a session. The service can
-- read and serve everything that these types permit. Moments have years of four digits, AD.
create domain annals.moment as timestamptz
  constraint moment_range check (value >= '0001-01-01 00:00:00+00' and value < '10000-01-01 00:00:00+00');

create function annals.is_owner() returns boolean
language sql stable
return pg_has_role(current_user, (select nspowner from pg_namespace where nspname = 'annals'), 'member');
-- Only the schema's own functions record actions that begin with annals., or look as if they did.
create domain annals.action as varchar(255)
  constraint action_not_empty check (value <> '')
  constraint action_reserved check (not annals.is_reserved(value::text) or annals.is_owner());
create domain annals.outcome as varchar(64)
  constraint outcome_not_empty check (value <> '');
create domain annals.message as text
  constraint message_length check (octet_length(value) <= 65535);

-- An object, at most 32 deep; numbers at most the greatest double, beyond which many JSON parsers fail, and at most 400 characters
-- written out; 131,072 bytes of text. The first checks bound the later ones: a number of 12 bytes may have 131,072 digits, so no number
-- is written out before magnitude and scale are known. Metadata over 2 MiB in PostgreSQL's form always exceeds the limit.
create function annals.is_servable_metadata(metadata jsonb) returns boolean
language plpgsql immutable strict parallel safe
as $$
begin
  if pg_catalog.pg_column_size(metadata) operator(pg_catalog.>) 2097152
      or pg_catalog.jsonb_typeof(metadata) operator(pg_catalog.<>) 'object'
      or pg_catalog.jsonb_path_exists(metadata,
        'strict $.**{32 to last} ? (@.type() == "object" || @.type() == "array")') then
    return false;
  end if;
  if pg_catalog.jsonb_path_exists(metadata, 'strict $.** ? (@.type() == "number")') and exists (
    select from pg_catalog.jsonb_path_query(metadata, 'strict $.** ? (@.type() == "number")') as number
    where case
      when pg_catalog.abs(number::pg_catalog.numeric) operator(pg_catalog.<=) 1.7976931348623157e308
        and pg_catalog.scale(number::pg_catalog.numeric) operator(pg_catalog.<=) 400
      then pg_catalog.length(number::pg_catalog.text) operator(pg_catalog.>) 400
      else true
    end)
  then
    return false;
  end if;
  return pg_catalog.octet_length(metadata::pg_catalog.text) operator(pg_catalog.<=) 131072;
end $$;

-- Most metadata is short, and its size and text alone permit it cheaply. In 308 characters no number is too long or too large. An object
-- nested 33 deep has at least 265 bytes uncompressed: each level has a header and an entry of 4 bytes each; otherwise it has more than 32
-- brackets. A short value may have a long text, so the size bounds what is written out.
create domain annals.metadata as jsonb
  constraint metadata_servable check (
    case
      when pg_column_compression(value) is null
        and pg_column_size(value) < 265
        and jsonb_typeof(value) = 'object'
        and octet_length(value::text) <= 308
      then true
      when pg_column_size(value) <= 1024
        and jsonb_typeof(value) = 'object'
        and octet_length(value::text) <= 308
        and octet_length(translate(value::text, '[{', ''))
          >= octet_length(value::text) - 32
      then true
      else annals.is_servable_metadata(value)
    end);

-- The records. A record is never updated, not even to number it: its segment holds its sequence id, and the view annals.feed shows it.
-- Columns are in the order of their alignment, widest first.
create table annals.audit_record (
  project_id         uuid              not null,
  -- The service draws its own.
  id                 uuid              not null default annals.sequential_guid(),
  -- The append's id, which is the record's own for an append of one; or, from plain SQL, its shared_append_id. complete_record() chooses it
  -- if the INSERT does not: the default stands for that, so that a table made LIKE this one takes the same INSERT.
  placed_with        uuid              not null default '00000000-0000-0000-0000-000000000000',
  -- When it happened, as the writer says; and when the database received it.
  "timestamp"        annals.moment     not null default clock_timestamp(),
  recorded_at        annals.moment     not null default clock_timestamp(),
  action             annals.action     not null,
  actor_type         varchar(255),
  actor_id           varchar(1024),
  actor_name         varchar(1024),
  subject_type       varchar(255),
  subject_id         varchar(1024),
  subject_name       varchar(1024),
  outcome            annals.outcome,
  ip_address         inet,
  message            annals.message,
  metadata           annals.metadata,
  -- The name of a SYNCHRONOUS sequence, and the record's number. No foreign key: it would lock the sequence's row once more.
  number_sequence    varchar(128) collate "C",
  number_value       bigint,
  -- The writer: a token or an identity, or the login role. Writers have no right to either column.
  recorded_by_token  uuid,
  recorded_by_role   varchar(63)       default session_user,
  -- After a redaction: the salts of the remaining fields, the digests of the redacted ones. No role may read it.
  redaction          jsonb,
  -- No foreign key to project: it would be checked for every record. Placing an append checks the project.
  constraint audit_record_pkey primary key (project_id, id),
  constraint audit_record_one_recorder check (recorded_by_token is null or recorded_by_role is null)
) with (
  -- Vacuum freezes new rows while they are in memory, whatever the size of the table. A later freeze would write their pages again. The
  -- tables append and feed_segment have these settings too.
  autovacuum_freeze_min_age = 0, autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000
);
-- No number twice. A record without a number has no entry here.
create unique index audit_record_number_key on annals.audit_record (project_id, number_sequence, number_value)
  where number_value is not null;

-- The records of an append, in their order. An append of one record whose id it has needs no row here.
create table annals.append (
  project_id        uuid   not null,
  id                uuid   not null,
  -- The records' placed_with, if it is not this append's id.
  shared_append_id  uuid,
  record_ids        uuid[] not null,
  constraint append_pkey primary key (project_id, id),
  -- Pages read whole appends, so this bounds what they read too much.
  constraint append_size check (cardinality(record_ids) between 1 and 256)
) with (
  autovacuum_freeze_min_age = 0, autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000
);
-- 4 KiB of record ids do not compress; in line they are read without a detour.
alter table annals.append alter column record_ids set storage plain;
create index append_shared_append_id_idx on annals.append (project_id, shared_append_id)
  where shared_append_id is not null;

-- The place of an append in its feed: the sequence ids first_sequence_id to last_sequence_id.
create table annals.feed_segment (
  project_id         uuid   not null,
  append_id          uuid   not null,
  first_sequence_id  bigint not null,
  last_sequence_id   bigint not null,
  -- Another one for each place. A database that was set back issues its places again, but with other marks: by them a cursor notices. The
  -- clock costs a tenth of a random UUID; setseed() would repeat random().
  mark               integer not null default hashfloat8(date_part('epoch', clock_timestamp())),
  -- A segment begins at head + 1, so a place computed from an outdated head collides here, whatever its size.
  constraint feed_segment_pkey primary key (project_id, first_sequence_id),
  constraint feed_segment_append_key unique (project_id, append_id)
  -- No check of the range: place_segment() alone writes here, and a check is parsed anew for every commit.
) with (
  autovacuum_freeze_min_age = 0, autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000
);

-- --- Sequences -----------------------------------------------------------------------------------------------------------

create table annals.sequence (
  id              uuid        not null,
  project_id      uuid        not null,
  -- The first unreserved value. PSEUDO_RANDOM counts positions in the period, COMPOSITE processes, RECYCLED_SERIES starts of
  -- series; NATIVE and BIT_REVERSED keep it in a PostgreSQL sequence.
  next_value      bigint      not null,
  -- The begin of the last reservation: RETURNING shows no old values before PostgreSQL 18.
  reserved_from   bigint,
  start           bigint      not null,
  max_value       bigint      not null,
  created_at      timestamptz not null default clock_timestamp(),
  -- A deleted sequence keeps its name, which would otherwise issue its values again.
  deleted_at      timestamptz,
  batch_size      integer     not null,
  low_water_mark  integer     not null,
  kind            text        not null,
  name            text collate "C" not null,
  constraint sequence_pkey primary key (id),
  constraint sequence_name_key unique (project_id, name),
  constraint sequence_project_fkey foreign key (project_id) references annals.project (id),
  constraint sequence_name_form check (name ~ '^[A-Za-z0-9._-]{1,128}$'),
  constraint sequence_kind check (kind in ('SYNCHRONOUS', 'ASYNCHRONOUS', 'BATCH', 'ASYNC_BATCH', 'PSEUDO_RANDOM',
    'COMPOSITE', 'RECYCLED_SERIES', 'BIT_REVERSED', 'NATIVE')),
  -- One below the greatest bigint, so that the value after the last one is a bigint.
  constraint sequence_range check (start >= 1 and start <= max_value and max_value <= 9223372036854775806),
  constraint sequence_next_value_range check (next_value between 1 and max_value + 1),
  constraint sequence_batch_size check (batch_size between 1 and 1000000),
  constraint sequence_low_water_mark check (low_water_mark between 0 and batch_size)
) with (fillfactor = 50); -- room for the next version of a row on its own page

-- The series of RECYCLED_SERIES that are not used up. A session owns a series by its advisory lock, which the server releases when the
-- owner dies.
create table annals.sequence_series (
  sequence_id    uuid   not null,
  first_value    bigint not null,
  last_value     bigint not null,
  next_value     bigint not null,
  reserved_from  bigint,
  -- Random, so that no other login can take the lock before the first owner. A later one only keeps the series from being recycled.
  lock_key       bigint not null default hashtextextended(gen_random_uuid()::text, 0),
  constraint sequence_series_pkey primary key (sequence_id, first_value),
  constraint sequence_series_sequence_fkey foreign key (sequence_id) references annals.sequence (id),
  constraint sequence_series_range check (first_value <= next_value and next_value <= last_value + 1)
) with (fillfactor = 50);

-- The locks of MAX_PLUS_ONE, one row per column. Only a role that may insert into its table sees the row and can lock it; any login could
-- take an advisory lock.
create table annals.max_plus_one_lock (
  target       oid  not null,
  column_name  name not null,
  constraint max_plus_one_lock_pkey primary key (target, column_name)
);
alter table annals.max_plus_one_lock enable row level security;
create policy whoever_may_insert on annals.max_plus_one_lock
  using (has_any_column_privilege(target, 'insert'))
  with check (has_any_column_privilege(target, 'insert')
    and exists (select from pg_attribute where attrelid = target and attname = column_name));

-- --- Projections, counts and search ----------------------------------------------------------------------------------------

-- Projections are derived from feeds, record by record. Each has a checkpoint per project, written in one transaction with its state, so
-- every record counts once. Each can be rebuilt.
create table annals.projection (
  name        text collate "C" not null,
  -- A rebuild raises it: a project with an older checkpoint begins again.
  generation  integer not null default 1,
  -- How many records it processes at a time; it waits for so many.
  step        integer not null,
  constraint projection_pkey primary key (name),
  constraint projection_step check (step >= 1)
);

insert into annals.projection (name, step) values ('statistics', 1), ('search', 1024), ('log', 1);

create table annals.projection_checkpoint (
  project_id   uuid    not null,
  projection   text collate "C" not null,
  -- All records up to this one are processed.
  sequence_id  bigint  not null,
  generation   integer not null,
  -- projection_mark() of the server that began this state. With another mark, it begins again.
  mark         text,
  constraint projection_checkpoint_pkey primary key (project_id, projection),
  constraint projection_checkpoint_project_fkey foreign key (project_id) references annals.project (id),
  constraint projection_checkpoint_projection_fkey foreign key (projection) references annals.projection (name),
  constraint projection_checkpoint_range check (sequence_id >= 0)
) with (fillfactor = 50); -- room for the next version of a row on its own page

-- The number of records by UTC day, action and outcome; and by day, action, actor and outcome. Each has its own limit, so invented actors
-- take no place from actions.
create table annals.daily_count (
  project_id    uuid          not null,
  record_count  bigint        not null,
  day           date          not null,
  by_actor      boolean       not null,
  -- SHA-256 of action, actor and outcome, which may be too long for an index.
  key           bytea         not null,
  -- Null: all combinations beyond the day's limit.
  action        varchar(255),
  -- Its id, otherwise its name.
  actor         varchar(1024),
  outcome       varchar(64),
  constraint daily_count_pkey primary key (project_id, by_actor, day, key),
  constraint daily_count_actor check (by_actor or actor is null)
) with (fillfactor = 80);

-- The number of records by day, and how many combinations the day has, without and with actors.
create table annals.daily_total (
  project_id               uuid    not null,
  record_count             bigint  not null,
  day                      date    not null,
  combination_count        integer not null,
  actor_combination_count  integer not null,
  constraint daily_total_pkey primary key (project_id, day)
) with (fillfactor = 50);

-- A key in the index. Each stretch of 1,048,576 places has a number of 16 bits. A search asks for one stretch after the other, in feed
-- order, and the index grows in few places.
create function annals.search_entry(stretch bigint, key integer) returns bigint
language sql immutable parallel safe
return (stretch & 65535) << 32 | (key::bigint & 4294967295);

create function annals.search_entries(block bigint, keys integer[]) returns bigint[]
language sql immutable parallel safe
return array(select annals.search_entry(block >> 10, key) from unnest(keys) as key);

-- The search index: for each 1,024 places of a feed, the values of its records. It is written after the commit. A page reads the records
-- of blocks that may match, and those that are in no block yet.
create table annals.search_block (
  project_id       uuid        not null,
  -- The places block * 1024 + 1 to block * 1024 + 1024.
  block            bigint      not null,
  first_timestamp  timestamptz not null,
  last_timestamp   timestamptz not null,
  -- search_key() of all values, ascending.
  keys             integer[]   not null,
  -- For each key its only place, 0 to 1023; or the negated number of its slices in masks. Most values of a block are in one record.
  places           smallint[]  not null,
  -- For keys with several places: a bit for every 16 places, from the lowest on.
  masks            bigint[]    not null,
  constraint search_block_pkey primary key (project_id, block) include (first_timestamp, last_timestamp),
  constraint search_block_places check (cardinality(places) = cardinality(keys))
);
-- Hash values do not compress, and a page reads the other columns of each block. Stored out of line, they keep rows small.
alter table annals.search_block
  alter column keys set storage external,
  alter column places set storage external,
  alter column masks set storage external;
-- Each block has thousands of keys at once: a pending list would only be searched, too.
create index search_block_keys_idx on annals.search_block using gin (annals.search_entries(block, keys)) with (fastupdate = off);

-- The dictionary: each action, outcome, type, name of a member of metadata and word of a project's indexed records, for completion and for
-- the terms that a pattern may match. Written with the index.
create table annals.term (
  project_id  uuid      not null,
  -- The number of the last 65,536 places that have it. 2147483647 for the empty term, which says that the field lacks some terms.
  seen        integer   not null,
  -- As search_key() numbers them.
  field       smallint  not null,
  -- Folded; behind it U+0001 and the value as it was written, if that differs.
  term        text      not null collate "C",
  constraint term_pkey primary key (project_id, field, term)
) with (fillfactor = 80); -- room for the next version of a row on its own page

-- --- The logs' trees -------------------------------------------------------------------------------------------------------

-- 256 hashes each; the incomplete last tile of a level is computed when needed. Rows never change: a rebuild computes them anew and
-- compares.
create table annals.merkle_tile (
  project_id  uuid      not null,
  tile        bigint    not null,
  -- 0: the records.
  level       smallint  not null,
  -- A hash of the next level's tile.
  root        bytea     not null,
  -- Level 0: the records' entries, which the leaves hash. Others: the roots of 256 tiles below.
  hashes      bytea     not null,
  constraint merkle_tile_pkey primary key (project_id, level, tile),
  constraint merkle_tile_size check (octet_length(root) = 32 and octet_length(hashes) = 8192)
);
-- Hashes do not compress.
alter table annals.merkle_tile alter column hashes set storage external;

-- The salts of 256 records are derived from this; tile counts as in merkle_tile. It is random: no rebuild can restore it.
create table annals.merkle_seed (
  project_id  uuid    not null,
  tile        bigint  not null,
  -- After a redaction: the seeds of the records, 32 bytes each, zeros for the redacted ones.
  seed        bytea   not null,
  constraint merkle_seed_pkey primary key (project_id, tile),
  constraint merkle_seed_size check (octet_length(seed) in (32, 8192))
);
alter table annals.merkle_seed alter column seed set storage external;

-- The state of a log. The service locks the row while it signs, so that no two instances sign different trees.
create table annals.merkle_log (
  project_id   uuid    not null,
  -- The number of records in the tree, and the hashes that represent them: 32 bytes for each bit of the size.
  size         bigint  not null default 0,
  frontier     bytea   not null default '',
  epoch        integer not null default 1,
  -- The newest signed note, its number of records, and the database that signed it: a restored or promoted one is another.
  signed_size  bigint  not null default 0,
  checkpoint   text,
  incarnation  text,
  -- Why it signs nothing any more.
  halted       text,
  -- The newest note that enough witnesses have cosigned, its number of records, and when witnesses were last asked.
  cosigned       text,
  cosigned_size  bigint not null default 0,
  offered_at     timestamptz,
  constraint merkle_log_pkey primary key (project_id),
  constraint merkle_log_project_fkey foreign key (project_id) references annals.project (id),
  constraint merkle_log_frontier check (octet_length(frontier) = 32 * bit_count(size::bit(64))),
  constraint merkle_log_signed check (signed_size >= 0 and (signed_size = 0 or checkpoint is not null)),
  constraint merkle_log_cosigned check (cosigned_size between 0 and signed_size and (cosigned_size = 0 or cosigned is not null))
) with (fillfactor = 50); -- room for the next version of a row on its own page
create index merkle_log_halted_idx on annals.merkle_log (project_id) where halted is not null;

-- The logs that could not be continued, with the last note of each.
create table annals.merkle_epoch (
  project_id  uuid        not null,
  epoch       integer     not null,
  checkpoint  text,
  reason      text        not null,
  ended_at    timestamptz not null default clock_timestamp(),
  constraint merkle_epoch_pkey primary key (project_id, epoch),
  constraint merkle_epoch_project_fkey foreign key (project_id) references annals.project (id)
);

-- The last answer of each witness for each log.
create table annals.merkle_witness (
  project_id   uuid    not null,
  -- Its key: name+id+key.
  witness      text collate "C" not null,
  epoch        integer not null,
  -- The number of records it has cosigned, and when it last did.
  size         bigint  not null default 0,
  cosigned_at  timestamptz,
  -- The error since, and when it is asked again.
  error        text,
  retry_at     timestamptz,
  constraint merkle_witness_pkey primary key (project_id, witness),
  constraint merkle_witness_project_fkey foreign key (project_id) references annals.project (id),
  constraint merkle_witness_size check (size >= 0),
  constraint merkle_witness_length check (length(witness) <= 1200 and length(error) <= 500)
);

-- --- Redaction, hold, horizon and archive ------------------------------------------------------------------------------------

-- The redactions of a project in their order. Only the schema's owner may write here, so no other role can make the triggers permit a
-- change.
create table annals.redaction (
  project_id  uuid    not null,
  -- 1, 2, 3 … in the project.
  number      bigint  not null,
  record_id   uuid    not null,
  -- The fields of this redaction; others may have been redacted before.
  fields      text[]  not null,
  -- The record in the same feed with the actor and the reason.
  event_id    uuid    not null,
  constraint redaction_pkey primary key (project_id, number),
  constraint redaction_project_fkey foreign key (project_id) references annals.project (id),
  constraint redaction_fields check (
    cardinality(fields) between 1 and 10
    and fields <@ array['actor.type', 'actor.id', 'actor.name', 'subject.type', 'subject.id', 'subject.name', 'outcome',
      'ip_address', 'message', 'metadata'])
);
create index redaction_record_idx on annals.redaction (project_id, record_id);

create table annals.legal_hold (
  id           uuid           not null,
  project_id   uuid           not null,
  -- Both null: the whole project.
  actor_id     varchar(1024) collate "C",
  subject_id   varchar(1024) collate "C",
  reason       varchar(1024)  not null,
  created_at   timestamptz    not null default clock_timestamp(),
  lifted_at    timestamptz,
  lift_reason  varchar(1024),
  constraint legal_hold_pkey primary key (id),
  constraint legal_hold_project_fkey foreign key (project_id) references annals.project (id),
  constraint legal_hold_covers check (
    num_nonnulls(actor_id, subject_id) <= 1 and actor_id <> '' and subject_id <> ''),
  constraint legal_hold_reason check (reason <> '' and lift_reason <> ''),
  constraint legal_hold_lifted check ((lifted_at is null) = (lift_reason is null))
);
create index legal_hold_project_idx on annals.legal_hold (project_id, id);
create index legal_hold_active_idx on annals.legal_hold (project_id, actor_id, subject_id) where lifted_at is null;

-- The end of the removed beginning of a feed. The place at the horizon stays with its mark, and its record's id stays here: sequence ids
-- never begin again, and a reader that is exactly there continues. The first policy makes the row, which is never deleted.
create table annals.feed_horizon (
  project_id       uuid        not null,
  sequence_id      bigint      not null default 0,
  -- The removed record with this sequence id. Its segment has another append's id: the record may be sent again, as a new one.
  record_id        uuid,
  -- All removed records were recorded before.
  recorded_before  timestamptz,
  -- The log's entries (docs/leaf-format.md) of removed records in a tile that was incomplete. merkle_tile has the others.
  entries          bytea       not null default '',
  constraint feed_horizon_pkey primary key (project_id),
  constraint feed_horizon_project_fkey foreign key (project_id) references annals.project (id),
  constraint feed_horizon_range check (
    sequence_id >= 0 and (sequence_id = 0) = (record_id is null) and (sequence_id = 0 or recorded_before is not null)),
  constraint feed_horizon_entries check (octet_length(entries) in (0, sequence_id % 256 * 32))
) with (fillfactor = 50); -- room for the next version of a row on its own page
alter table annals.feed_horizon alter column entries set storage external;

-- Only note_archive() writes here.
create table annals.archive (
  id                 uuid           not null,
  project_id         uuid           not null,
  first_sequence_id  bigint         not null,
  last_sequence_id   bigint         not null,
  -- As the maker of the file says.
  file_name          varchar(255)   not null,
  bytes              bigint         not null,
  sha256             bytea          not null,
  created_at         timestamptz    not null default clock_timestamp(),
  constraint archive_pkey primary key (id),
  constraint archive_last_key unique (project_id, last_sequence_id),
  constraint archive_project_fkey foreign key (project_id) references annals.project (id),
  constraint archive_range check (first_sequence_id between 1 and last_sequence_id),
  constraint archive_file check (file_name <> '' and bytes > 0 and octet_length(sha256) = 32)
);

-- The copy of archived records that this database holds to be read. Its log is halted for good, and the project accepts no records.
create table annals.restored_archive (
  project_id         uuid         not null,
  first_sequence_id  bigint       not null,
  last_sequence_id   bigint       not null,
  -- The newest checkpoint of the files, by which the original log signed these records; and the compact ranges before and behind
  -- them, which lead to its root (docs/leaf-format.md).
  checkpoint         text         not null,
  left_hashes        bytea        not null,
  right_hashes       bytea        not null,
  restored_at        timestamptz  not null default clock_timestamp(),
  constraint restored_archive_pkey primary key (project_id),
  constraint restored_archive_project_fkey foreign key (project_id) references annals.project (id),
  constraint restored_archive_range check (first_sequence_id between 1 and last_sequence_id)
);
-- The only one of its database.
create unique index restored_archive_one_key on annals.restored_archive ((true));

-- Moves of projects between databases, in home alone. Only functions write here.
create table annals.move (
  id            uuid         not null,
  project_id    uuid         not null,
  -- Names of databases.
  source        text         not null,
  target        text         not null,
  epoch         bigint       not null,
  -- copying, switched, done; or copying, cancelling, cancelled.
  state         text         not null,
  -- The end of the feed and its log when it was decided.
  head          bigint,
  log_size      bigint,
  log_root      bytea,
  -- Of all that had left the source then: see moved_digests().
  digests       jsonb,
  -- Up to this sequence id.
  copied        bigint       not null default 0,
  last_error    varchar(1024),
  leased_by     uuid,
  leased_until  timestamptz,
  started_at    timestamptz  not null default clock_timestamp(),
  switched_at   timestamptz,
  ended_at      timestamptz,
  constraint move_pkey primary key (id),
  constraint move_epoch_key unique (project_id, epoch),
  constraint move_project_fkey foreign key (project_id) references annals.project (id),
  constraint move_ends check (source <> target and source ~ '^[a-z][a-z0-9_-]{0,62}$' and target ~ '^[a-z][a-z0-9_-]{0,62}$'),
  constraint move_state check (state in ('copying', 'switched', 'done', 'cancelling', 'cancelled')),
  constraint move_switched check ((switched_at is not null) = (state in ('switched', 'done')) 
    and (switched_at is null) = (head is null) and (switched_at is null) = (digests is null)),
  constraint move_ended check ((ended_at is not null) = (state in ('done', 'cancelled'))),
  constraint move_lease check ((leased_by is null) = (leased_until is null))
);
create unique index move_one_key on annals.move (project_id) where ended_at is null;

-- In the target of a move: the mover whose changes it takes, which is the last one that has begun.
create table annals.arrival (
  project_id  uuid  not null,
  mover       uuid  not null,
  -- So many records have the hashes that the log of the source has; and the tree of these, as in merkle_log.
  checked     bigint not null default 0,
  frontier    bytea  not null default '',
  constraint arrival_pkey primary key (project_id),
  constraint arrival_project_fkey foreign key (project_id) references annals.project (id)
);

-- --- Streams, alerts and verification ----------------------------------------------------------------------------------------

create table annals.stream (
  id            uuid           not null,
  -- Its owner.
  project_id    uuid           not null,
  name          varchar(128) collate "C" not null,
  -- Follows all projects, also later ones; otherwise its own. Never changes.
  all_projects  boolean        not null default false,
  -- Records that its store has confirmed may be removed, as those of an archive.
  archive       boolean        not null default false,
  sink_type     varchar(32)    not null,
  url           varchar(2048)  not null,
  -- Delivers to public addresses alone: a link defined it.
  only_public   boolean        not null default false,
  -- The link that defined it or resumed it last, and the token that made the link. If either is revoked, or the token expires, the stream
  -- is paused.
  link_id         uuid,
  link_issued_by  uuid,
  -- Encrypted with a key that is in no database. Null if the sink has none.
  secret        bytea,
  format        varchar(32)    not null,
  -- Filters, by the names of a page's parameters.
  filter        jsonb          not null default '{}',
  on_refusal    varchar(32)    not null,
  max_refusals  integer        not null,
  created_at    timestamptz    not null default clock_timestamp(),
  paused_at     timestamptz,
  -- Null if a caller paused it.
  pause_reason  varchar(1024),
  -- By the service, because it cannot continue.
  stopped_at    timestamptz,
  stop_reason   varchar(1024),
  -- Its last rewind, and their number; null and 0 without one.
  rewound_to    varchar(128),
  rewinds       integer        not null default 0,
  constraint stream_pkey primary key (id),
  constraint stream_name_key unique (project_id, name),
  constraint stream_project_fkey foreign key (project_id) references annals.project (id),
  constraint stream_name check (name ~ '^[A-Za-z0-9._-]+$'),
  constraint stream_sink_type check (sink_type::text in ('webhook', 'postgresql', 'kafka', 'otlp', 'syslog', 's3')),
  constraint stream_secret_length check (octet_length(secret) between 29 and 4096),
  constraint stream_format check (format::text in (
    'json', 'cloudevents', 'ocsf', 'cef', 'splunk_hec', 'datadog', 'elastic', 'slack', 'teams', 'pagerduty')),
  constraint stream_filter check (jsonb_typeof(filter) = 'object'),
  constraint stream_on_refusal check (on_refusal::text in ('stop', 'dead_letter')),
  constraint stream_max_refusals check (max_refusals between 1 and 100),
  -- Only administrators change streams of all projects.
  constraint stream_archive check (not archive
    or all_projects and sink_type = 's3' and format = 'json' and filter = '{}' and on_refusal = 'stop' and not only_public),
  constraint stream_link check (only_public = (link_id is not null) and (only_public or link_issued_by is null)),
  constraint stream_paused check (pause_reason is null or paused_at is not null),
  constraint stream_stopped check ((stopped_at is null) = (stop_reason is null))
);

-- One row for each feed that a stream follows.
create table annals.stream_progress (
  stream_id      uuid         not null,
  -- The feed.
  project_id     uuid         not null,
  -- A reader's cursor: the sequence id and its check value; 0 is the start.
  cursor         varchar(64)  not null,
  rewinds        integer      not null default 0,
  -- All records up to this one are in the store of a stream that is an archive, in other archives, or have expired.
  archived_through bigint     not null default 0,
  -- In home, of a feed in a member: its last sequence id, as home last heard.
  member_head    bigint       not null default 0,
  -- Grows with each lease and change of the stream. Writes with an older epoch are rejected.
  epoch          bigint       not null default 0,
  leased_by      uuid,
  leased_until   timestamptz,
  -- The one whose turn was longest ago is next.
  turn_at        timestamptz  not null default '-infinity',
  -- Failures and refusals since the last success; and when to try again.
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
    rewinds >= 0 and archived_through >= 0 and failures >= 0 and refusals >= 0 and delivered >= 0 and dead_letters >= 0),
  constraint stream_progress_lease check ((leased_by is null) = (leased_until is null))
) with (fillfactor = 50); -- room for the next version of a row on its own page

-- Records that a sink refused and their stream passed by. The record stays in the feed.
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

-- Instances that died while they delivered a stream, since its sink last acknowledged a record.
create table annals.stream_death (
  stream_id  uuid         not null,
  instance   uuid         not null,
  died_at    timestamptz  not null default clock_timestamp(),
  constraint stream_death_pkey primary key (stream_id, instance),
  constraint stream_death_stream_fkey foreign key (stream_id) references annals.stream (id) on delete cascade
);

-- A change of an alert leaves an event. The service updates the progress columns.
create table annals.alert (
  id                 uuid           not null,
  project_id         uuid           not null,
  name               varchar(128) collate "C" not null,
  -- As in GET /v1/project-logs.
  q                  varchar(1024)  not null,
  -- An interval may have so many matching records. The next one raises the alert.
  threshold          bigint         not null,
  interval_seconds   integer        not null,
  enabled            boolean        not null,
  created_at         timestamptz    not null default clock_timestamp(),
  -- Records up to this one are counted, or older than the definition.
  sequence_id        bigint         not null,
  -- The interval of the newest matching record. Intervals begin at multiples of their length since 1970.
  window_start       timestamptz,
  first_sequence_id  bigint,
  match_count        bigint         not null default 0,
  -- The last interval with an event, and the number of events.
  raised_window      timestamptz,
  raised_count       bigint         not null default 0,
  -- The one whose turn was longest ago is next.
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

-- A project's catalogue of actions: the policies. Functions change it, and leave events.
create table annals.catalogue (
  project_id           uuid         not null,
  -- For a record whose action is not in the catalogue; and for one whose metadata does not fit the schema of its action.
  unknown_actions      varchar(16)  not null default 'accept',
  ill_formed_metadata  varchar(16)  not null default 'accept',
  -- Grows with each change of this row or of the actions. An instance that knows another version reads them again.
  version              bigint       not null default 1,
  constraint catalogue_pkey primary key (project_id),
  constraint catalogue_project_fkey foreign key (project_id) references annals.project (id),
  constraint catalogue_policies check (
    unknown_actions::text in ('accept', 'mark', 'refuse') and ill_formed_metadata::text in ('accept', 'mark', 'refuse')),
  constraint catalogue_version check (version >= 1)
);

create table annals.catalogue_action (
  project_id       uuid           not null,
  name             varchar(255) collate "C" not null,
  title            varchar(255),
  description      varchar(1024),
  category         varchar(255),
  severity         varchar(16),
  -- OCSF's class_uid.
  ocsf_class       integer,
  -- A JSON Schema that the service has checked.
  metadata_schema  jsonb,
  constraint catalogue_action_pkey primary key (project_id, name),
  constraint catalogue_action_catalogue_fkey foreign key (project_id) references annals.catalogue (project_id),
  constraint catalogue_action_name check (name <> ''),
  constraint catalogue_action_severity check (
    severity::text in ('informational', 'low', 'medium', 'high', 'critical', 'fatal')),
  constraint catalogue_action_ocsf_class check (ocsf_class in (1001, 3001, 3002, 3003, 3005, 3006, 6001, 6003, 6005)),
  -- An event has the schema before and after a change.
  constraint catalogue_action_schema check (
    jsonb_typeof(metadata_schema) = 'object' and octet_length(metadata_schema::text) <= 16384)
);

-- Saved views, for all readers of a project. A change leaves an event.
create table annals.saved_view (
  id          uuid         not null,
  project_id  uuid         not null,
  name        varchar(80) collate "C" not null,
  -- Filters, by the names of a page's parameters.
  filter      jsonb        not null,
  -- A range that moves with the clock, such as 24h; null without one.
  last        varchar(6),
  -- Columns of the viewer; null for the usual ones.
  columns     jsonb,
  changed_at  timestamptz  not null default clock_timestamp(),
  constraint saved_view_pkey primary key (id),
  constraint saved_view_name_key unique (project_id, name),
  constraint saved_view_project_fkey foreign key (project_id) references annals.project (id),
  constraint saved_view_name check (name ~ '^[^\u0001-\u001f\u007f-\u009f/.][^\u0001-\u001f\u007f-\u009f/]*$'),
  constraint saved_view_filter check (jsonb_typeof(filter) = 'object' and octet_length(filter::text) <= 16384),
  constraint saved_view_last check (last ~ '^[1-9][0-9]{0,4}[smhdw]$'),
  constraint saved_view_columns check (jsonb_typeof(columns) = 'array' and octet_length(columns::text) <= 16384)
);

-- Verification in the background: how far each feed was verified, and the findings. All instances take turns.
create table annals.verification (
  project_id   uuid         not null,
  -- Records up to this one are verified in this round.
  sequence_id  bigint       not null default 0,
  round_at     timestamptz  not null default clock_timestamp(),
  -- Findings in this round, and in the last one.
  found        integer      not null default 0,
  found_before integer      not null default 0,
  -- When to verify the next range. An instance advances it first to claim the range.
  due_at       timestamptz  not null default clock_timestamp(),
  constraint verification_pkey primary key (project_id),
  constraint verification_project_fkey foreign key (project_id) references annals.project (id),
  constraint verification_range check (sequence_id >= 0 and found >= 0 and found_before >= 0)
) with (fillfactor = 50); -- room for the next version of a row on its own page
create index verification_due_idx on annals.verification (due_at);
