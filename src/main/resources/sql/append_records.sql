-- Appends a batch of records to one project. Sent alone, it is its own transaction: COMMIT, and with it the placing of
-- the batch in the feed, is part of it.
--
--  $1 project_id     uuid
--  $2 id             uuid[]         the records, in their order
--  $3 placed_with    uuid[]         of each record: its own id, where its append is only this record
--  $4 timestamp      timestamptz[]
--  $5 action         text[]
--  $6 actor_type     text[]         this and the following: elements may be null
--  $7 actor_id       text[]
--  $8 actor_name     text[]
--  $9 subject_type   text[]
-- $10 subject_id     text[]
-- $11 subject_name   text[]
-- $12 outcome        text[]
-- $13 ip_address     text[]
-- $14 message        text[]
-- $15 metadata       text[]         JSON objects
-- $16 append.id      uuid[]         the appends of more than one record
-- $17 append.first   integer[]      where each begins in $2, from 1
-- $18 append.last    integer[]      where each ends in $2
-- $19 recorded_by_token  uuid[]     the token that each record came with
--
-- One row: recorded_at timestamptz, the same for all records of the batch.
with new_record as (
  insert into annals.audit_record (
    project_id, id, placed_with, "timestamp", recorded_at, action,
    actor_type, actor_id, actor_name, subject_type, subject_id, subject_name,
    outcome, ip_address, message, metadata, recorded_by_token, recorded_by_role)
  select
    $1, id, placed_with, "timestamp", statement_timestamp(), action,
    actor_type, actor_id, actor_name, subject_type, subject_id, subject_name,
    outcome, ip_address::inet, message, metadata::jsonb, recorded_by_token, null
  from unnest(
    $2::uuid[], $3::uuid[], $4::timestamptz[], $5::text[],
    $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[],
    $12::text[], $13::text[], $14::text[], $15::text[], $19::uuid[])
    as r (id, placed_with, "timestamp", action,
      actor_type, actor_id, actor_name, subject_type, subject_id, subject_name,
      outcome, ip_address, message, metadata, recorded_by_token)
), new_append as (
  insert into annals.append (project_id, id, record_ids)
  select $1, id, ($2::uuid[])[first:last]
  from unnest($16::uuid[], $17::integer[], $18::integer[]) as a (id, first, last)
)
select statement_timestamp() as recorded_at
