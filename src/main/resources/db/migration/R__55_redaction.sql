-- Redaction removes values of a record and their salts, from which a value could be guessed. Their digests stay, so the record's leaf
-- does not change (docs/leaf-format.md). It is the only change of a record. The triggers permit only what annals.redaction says.

-- Permits a change of a record only as far as a redaction of this transaction says.
create or replace function annals.refuse_other_change() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  gone      text[];
  expected  annals.audit_record := old;
begin
  select fields into gone from annals.redaction
  where project_id = old.project_id and record_id = old.id and xmin = pg_current_xact_id()::xid
  order by number desc limit 1;
  if found then
    expected.actor_type   := case when 'actor.type'   = any (gone) then null else old.actor_type end;
    expected.actor_id     := case when 'actor.id'     = any (gone) then null else old.actor_id end;
    expected.actor_name   := case when 'actor.name'   = any (gone) then null else old.actor_name end;
    expected.subject_type := case when 'subject.type' = any (gone) then null else old.subject_type end;
    expected.subject_id   := case when 'subject.id'   = any (gone) then null else old.subject_id end;
    expected.subject_name := case when 'subject.name' = any (gone) then null else old.subject_name end;
    expected.outcome      := case when 'outcome'      = any (gone) then null else old.outcome end;
    expected.ip_address   := case when 'ip_address'   = any (gone) then null else old.ip_address end;
    expected.message      := case when 'message'      = any (gone) then null else old.message end;
    expected.metadata     := case when 'metadata'     = any (gone) then null else old.metadata end;
    expected.redaction    := new.redaction;
    if new *= expected then -- byte by byte
      return new;
    end if;
  end if;
  raise restrict_violation using
    message = format('%s refused: %I.%I is append-only', tg_op, tg_table_schema, tg_table_name),
    hint = 'To correct a record, append another one that says so; to remove values, redact them.';
end $$;

-- Redacts fields of a record, all of which are set, and appends the event; without fields, it only checks for a legal hold. The caller holds
-- the checkpoints of 'search' and 'statistics', so redactions of a project follow one another, and corrects these two projections in
-- the same transaction.
--
--   canonical_metadata  the record's metadata in canonical JSON; the database checks only that it is the same value
--   drawn_seed          32 random bytes, for a record whose tile has no seed yet
--   address             of the caller, for the administration's feed
create or replace function annals.redact(
  project_id uuid, record_id uuid, fields text[], reason text, canonical_metadata text, drawn_seed bytea,
  event_id uuid, recorded_by_token uuid, address inet) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  record       annals.audit_record;
  place        bigint;
  tile         bigint;
  seeds        bytea;
  record_seed  bytea;
  missing      text;
  salts        jsonb;
  digests      jsonb;
begin
  select r.* into record from annals.audit_record r where r.project_id = project_id and r.id = record_id for no key update;
  if not found then
    raise no_data_found using message = format('project %s has no record %s', project_id, record_id);
  end if;
  if starts_with(record.action, 'annals.') and not fields <@ array['message'] then
    raise restrict_violation using
      message = format('record %s is one of the schema''s own: only its message can be redacted', record_id);
  end if;
  perform annals.refuse_held(record);
  if fields = '{}' then
    return;
  end if;
  if canonical_metadata::jsonb <> record.metadata then
    raise data_exception using message = format('this is not the metadata of record %s', record_id);
  end if;
  missing := (
    select field from unnest(fields) as field
    where field not in (select name from annals.leaf_fields(record, canonical_metadata)) limit 1);
  if missing is not null then
    raise no_data_found using message = format('record %s has no %s', record_id, missing);
  end if;
  place := annals.sequence_id(project_id, record_id, record.placed_with);

  salts := record.redaction -> 'salts';
  digests := coalesce(record.redaction -> 'redacted', '{}');
  if salts is null then
    tile := (place - 1) / 256;
    insert into annals.merkle_seed as s (project_id, tile, seed) values (project_id, tile, drawn_seed)
    on conflict do nothing;
    select annals.record_seeds(s.seed, tile) into seeds
    from annals.merkle_seed s where s.project_id = project_id and s.tile = tile for update;
    record_seed := substr(seeds, ((place - 1) % 256 * 32)::integer + 1, 32);
    select jsonb_object_agg(name, annals.base64url(substr(sha256(record_seed || convert_to(name, 'UTF8')), 1, 16)))
    into salts from annals.leaf_fields(record, coalesce(canonical_metadata, ''));
    update annals.merkle_seed s
    set seed = overlay(seeds placing decode(repeat('00', 32), 'hex') from ((place - 1) % 256 * 32)::integer + 1)
    where s.project_id = project_id and s.tile = tile;
  end if;
  digests := digests || (
    select jsonb_object_agg(name, annals.base64url(sha256(convert_to(
      format('["%s","%s",%s]', salts ->> name, name, value), 'UTF8'))))
    from annals.leaf_fields(record, canonical_metadata) where name = any (fields));

  insert into annals.redaction (project_id, number, record_id, fields, event_id)
  select project_id, coalesce(max(r.number), 0) + 1, record_id, fields, event_id
  from annals.redaction r where r.project_id = project_id;
  update annals.audit_record r set
    actor_type   = case when 'actor.type'   = any (fields) then null else r.actor_type end,
    actor_id     = case when 'actor.id'     = any (fields) then null else r.actor_id end,
    actor_name   = case when 'actor.name'   = any (fields) then null else r.actor_name end,
    subject_type = case when 'subject.type' = any (fields) then null else r.subject_type end,
    subject_id   = case when 'subject.id'   = any (fields) then null else r.subject_id end,
    subject_name = case when 'subject.name' = any (fields) then null else r.subject_name end,
    outcome      = case when 'outcome'      = any (fields) then null else r.outcome end,
    ip_address   = case when 'ip_address'   = any (fields) then null else r.ip_address end,
    message      = case when 'message'      = any (fields) then null else r.message end,
    metadata     = case when 'metadata'     = any (fields) then null else r.metadata end,
    redaction    = jsonb_build_object('salts', salts - fields, 'redacted', digests)
  where r.project_id = project_id and r.id = record_id;

  insert into annals.audit_record (
    project_id, id, placed_with, "timestamp", recorded_at, action, actor_type, actor_id, subject_type, subject_id, outcome,
    message, metadata, recorded_by_token, recorded_by_role)
  values (
    project_id, event_id, event_id, statement_timestamp(), statement_timestamp(), 'annals.redact',
    split_part(annals.recorder(recorded_by_token, null), ':', 1), recorded_by_token, 'record', record_id, 'success', reason,
    jsonb_build_object('fields', to_jsonb(fields), 'sequence_id', place), recorded_by_token, null);
  -- Without the reason, which may be redacted itself.
  perform annals.record_event('annals.record.redact', 'record', record_id::text, null,
    jsonb_build_object('project_id', project_id, 'sequence_id', place, 'fields', to_jsonb(fields)), recorded_by_token, address);
end $$;
