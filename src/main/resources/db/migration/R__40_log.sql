-- Each feed as a Merkle log: hashes, seeds and roots. See docs/leaf-format.md.

create or replace function annals.refuse_rewound_log() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  raise restrict_violation using
    message = format('the log of project %s cannot go back from %s signed records to %s in epoch %s',
      new.project_id, old.signed_size, new.signed_size, old.epoch);
end $$;

-- A copy must never sign as if it were the original, whatever key its service has.
create or replace function annals.refuse_resumed_archive() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (select from annals.restored_archive where project_id = new.project_id) then
    raise restrict_violation using
      message = format('project %s is a restored archive: its log stays halted', new.project_id),
      hint = 'The files of the archive prove its records: annals check.';
  end if;
  return new;
end $$;

create or replace function annals.base64url(bytes bytea) returns text
language sql immutable parallel safe
return translate(rtrim(encode(bytes, 'base64'), '='), '+/', '-_');

-- The fields of a record that are set, with their values in canonical JSON; empty for fields that cannot be redacted.
create or replace function annals.leaf_fields(record annals.audit_record, canonical_metadata text) returns table (name text, value text)
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select field.name, field.value
  from (values
    ('action', ''),
    ('timestamp', ''),
    ('recorded_by', left(coalesce(record.recorded_by_token::text, record.recorded_by_role), 0)),
    ('number', left(record.number_value::text, 0)),
    ('actor.type', to_json(record.actor_type)::text),
    ('actor.id', to_json(record.actor_id)::text),
    ('actor.name', to_json(record.actor_name)::text),
    ('subject.type', to_json(record.subject_type)::text),
    ('subject.id', to_json(record.subject_id)::text),
    ('subject.name', to_json(record.subject_name)::text),
    ('outcome', to_json(record.outcome::text)::text),
    ('ip_address', to_json(host(record.ip_address))::text),
    ('message', to_json(record.message::text)::text),
    ('metadata', case when record.metadata::jsonb <> '{}' then canonical_metadata end)) as field (name, value)
  where field.value is not null
$$;

-- The seeds of a tile's 256 records, one after the other. After a redaction they are stored like this, with zeros for the redacted;
-- before, they follow from one seed.
create or replace function annals.record_seeds(seed bytea, tile bigint) returns bytea
language sql immutable
return case
  when octet_length(seed) > 32 then seed
  else (
    select string_agg(sha256(seed || int8send(tile * 256 + place)), ''::bytea order by place)
    from generate_series(1, 256) as place)
end;

-- The root of a tree, from its frontier: one hash for each bit of its size, the largest subtree first.
create or replace function annals.tree_root(frontier bytea) returns bytea
language plpgsql immutable set search_path = pg_catalog, pg_temp
as $$
declare
  root bytea := sha256('');
begin
  for at in reverse octet_length(frontier) / 32 - 1 .. 0 loop
    root := case when at = octet_length(frontier) / 32 - 1 then substr(frontier, at * 32 + 1)
      else sha256(E'\\x01' || substr(frontier, at * 32 + 1, 32) || root) end;
  end loop;
  return root;
end $$;

-- The frontier of up to 255 entries that begin a tile.
create or replace function annals.begun_frontier(entries bytea) returns bytea
language plpgsql immutable set search_path = pg_catalog, pg_temp
as $$
declare
  frontier  bytea := '';
  hashes    bytea[];
  first     integer := 0;
begin
  for height in reverse 7 .. 0 loop
    continue when (octet_length(entries) / 32 >> height) % 2 = 0;
    hashes := array(
      select sha256(E'\\x00' || substr(entries, n * 32 + 1, 32)) from generate_series(first, first + (1 << height) - 1) as n
      order by n);
    while cardinality(hashes) > 1 loop
      hashes := array(
        select sha256(E'\\x01' || hashes[n] || hashes[n + 1]) from generate_series(1, cardinality(hashes), 2) as n order by n);
    end loop;
    frontier := frontier || hashes[1];
    first := first + (1 << height);
  end loop;
  return frontier;
end $$;
