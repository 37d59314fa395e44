-- Appends a batch of records to one project as append_records.sql does, and gives those that name a sequence its next
-- values, in their order. Sent alone, it is its own transaction: records and values are committed together.
--
--  $1 to $19 as in append_records.sql
-- $20 number_sequence  text[]     of each record; elements may be null
-- $21 number_place     bigint[]   how many records of the batch before it have numbers of the same sequence
-- $22 sequence.name    text[]     the sequences, each once
-- $23 sequence.count   bigint[]   how many values the batch needs of each
--
-- One row: recorded_at timestamptz, the same for all records of the batch; sequences text[], first_values bigint[].
--
-- A sequence that is not there, has another kind or too few values gives none. Its records then have a value without a
-- sequence, which makes number_record() fail the statement: it draws for plain SQL writers alone.
-- The rows of the sequences are locked in one order for everybody, so that no two batches wait for each other.
with locked as materialized (
  select s.id, wanted.count
  from annals.sequence s
  join unnest($22::text[], $23::bigint[]) as wanted (name, count) on wanted.name = s.name
  where s.project_id = $1 and s.kind = 'SYNCHRONOUS' and s.deleted_at is null
  order by s.name
  for update of s
), drawn as (
  update annals.sequence s
  set reserved_from = s.next_value, next_value = s.next_value + locked.count
  from locked
  where s.id = locked.id and s.max_value - s.next_value + 1 >= locked.count
  returning s.name, s.reserved_from as first_value
), new_record as (
  insert into annals.audit_record (
    project_id, id, placed_with, "timestamp", recorded_at, action,
    actor_type, actor_id, actor_name, subject_type, subject_id, subject_name,
    outcome, ip_address, message, metadata, number_sequence, number_value, recorded_by_token, recorded_by_role)
  select
    $1, r.id, placed_with, "timestamp", statement_timestamp(), action,
    actor_type, actor_id, actor_name, subject_type, subject_id, subject_name,
    outcome, ip_address::inet, message, metadata::jsonb, drawn.name, coalesce(drawn.first_value, 0) + number_place,
    recorded_by_token, null
  from unnest(
    $2::uuid[], $3::uuid[], $4::timestamptz[], $5::text[],
    $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[],
    $12::text[], $13::text[], $14::text[], $15::text[], $19::uuid[], $20::text[], $21::bigint[])
    as r (id, placed_with, "timestamp", action,
      actor_type, actor_id, actor_name, subject_type, subject_id, subject_name,
      outcome, ip_address, message, metadata, recorded_by_token, number_sequence, number_place)
  left join drawn on drawn.name = r.number_sequence
), new_append as (
  insert into annals.append (project_id, id, record_ids)
  select $1, id, ($2::uuid[])[first:last]
  from unnest($16::uuid[], $17::integer[], $18::integer[]) as a (id, first, last)
)
select statement_timestamp() as recorded_at, array_agg(name) as sequences, array_agg(first_value) as first_values
from drawn
