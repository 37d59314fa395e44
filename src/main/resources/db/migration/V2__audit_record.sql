-- The records, and the keys that writers get who come without one.
--
-- A plain SQL writer needs no more than
--   insert into annals.audit_record (project_id, action, message) values (…);

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

-- What a column may hold stands in its type: PostgreSQL parses a table's check constraints anew for every statement, and
-- a domain's once a session. Whatever these types admit, the service can read and serve.

-- Years that a four-digit year can name; neither infinity nor BC.
create domain annals.moment as timestamptz
  constraint moment_range check (value >= '0001-01-01 00:00:00+00' and value < '10000-01-01 00:00:00+00');
-- Actions that begin with annals., or look as if they did, are the schema's own: what only its functions record.
create function annals.is_owner() returns boolean
language sql stable
return pg_has_role(current_user, (select nspowner from pg_namespace where nspname = 'annals'), 'member');
create domain annals.action as varchar(255)
  constraint action_not_empty check (value <> '')
  constraint action_reserved check (not annals.is_reserved(value::text) or annals.is_owner());
create domain annals.outcome as varchar(64)
  constraint outcome_not_empty check (value <> '');
create domain annals.message as text
  constraint message_length check (octet_length(value) <= 65535);

-- An object, at most 32 objects and arrays deep; each number at most the greatest double, beyond which many parsers of JSON
-- fail, and with at most 400 characters, written out, which is enough for any double; and 131,072 bytes of text, as PostgreSQL writes it.
--
-- What is checked first bounds what is looked at next. A number of 12 bytes is up to 131,072 digits written out, so
-- nothing is written out before all numbers are known to be short: their magnitude and scale are read off, not written.
-- And no metadata of more than 2 MiB in PostgreSQL's own form has a text within the limit.
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

-- Most metadata is short, and its size and text alone then tell that it can be served, at a small part of the function's
-- cost. In 308 characters no number is too long or too large. What is nested 33 deep has 265 bytes at least, unless it is
-- compressed: each level has a header and an entry in the level above, of 4 bytes each. Where that does not tell, 32
-- brackets do. A short value may still have a long text, so what is written out here is bounded by its size.
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

-- The records. They carry no sequence id: a record is never updated, not even to number it. Its place is the number
-- of its segment (see V3) and its position there; the view annals.feed shows both together.
-- The columns stand in the order of their alignment, widest first, as far as all records have them.
create table annals.audit_record (
  project_id         uuid              not null,
  -- A sequential GUID, drawn before the insert: the service's from its own generator, otherwise this default.
  id                 uuid              not null default annals.sequential_guid(),
  -- How its append is found: the append's id, which for an append of one is the record's own; or, from plain SQL, the
  -- append's shared_append_id.
  placed_with        uuid              not null default annals.shared_append_id(),
  -- When it happened, as the writer says; and when the database took it in.
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
  -- A record may take its number along: the name of a sequence of kind SYNCHRONOUS, and its value (see V5). No foreign
  -- key: it would lock the sequence's row once more, and that row is never removed, nor its name changed.
  number_sequence    varchar(128),
  number_value       bigint,
  -- Who wrote it: the token of a request or its identity (see V15), or the role that logged in. Writers have no right to either column.
  recorded_by_token  uuid,
  recorded_by_role   varchar(63)       default session_user,
  -- Of a record of which something was redacted: the salts of the fields that are left, and the digests of those that are gone (see
  -- V10). Nobody has a right to it.
  redaction          jsonb,
  -- No foreign key to project: it would be checked for every record. Placing an append checks the project, once per append.
  constraint audit_record_pkey primary key (project_id, id),
  constraint audit_record_one_recorder check (recorded_by_token is null or recorded_by_role is null)
);

-- No number twice. A record without a number has no entry here.
create unique index audit_record_number_key on annals.audit_record (project_id, number_sequence, number_value)
  where number_value is not null;

-- An address has one form, by which it is found: an IPv4 address that is mapped to IPv6 is stored as the IPv4 address. The
-- service sends no other; writers of plain SQL may. A restored archive keeps what its log has signed.
create function annals.unmap_address() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if not annals.is_restored(new.project_id) then
    new.ip_address := substr(host(new.ip_address), 8)::inet;
  end if;
  return new;
end $$;

-- CASE, since IPv4 addresses have no 128 bits. (A domain can only refuse.)
create trigger unmap_address before insert on annals.audit_record
  for each row when (
    case family(new.ip_address) when 6 then set_masklen(new.ip_address, 128) <<= '::ffff:0:0/96'::inet else false end)
  execute function annals.unmap_address();
