-- Appends a batch of records to one project like append_records.sql, and gives those that name a sequence its next values, in their
-- order. Sent alone, it is its own transaction: records and values are committed together.
--
-- :lock_timeout       text            the longest wait for each lock, in milliseconds
-- :project_id         uuid
-- :append_id          uuid[]          the appends of more than one record
-- :append_first       integer[]       the index in :id of the first record of each, from 1
-- :append_last        integer[]       the index of its last record
-- :number_sequence    text[]          the sequence that each record names; elements may be null
-- :number_place       bigint[]        the number of records before it that name the same sequence
-- :sequence_name      text[]          the sequences, each once
-- :sequence_count     bigint[]        the number of values that the batch needs of each
-- and those of new_records.sql.
--
-- One row: recorded_at timestamptz, the same for all records of the batch; sequences text[], first_values bigint[].
--
-- A sequence that does not exist, is of another kind or has too few values gives none. Its records then have a value without a sequence,
-- for which gather_append() fails the statement. All batches lock sequences in one order, so they do not deadlock.
with setting as materialized (
  select set_config('lock_timeout', :lock_timeout, true)
), locked as materialized (
  select s.id, wanted.count
  from setting
  cross join annals.sequence s
  join unnest(:sequence_name::text[], :sequence_count::bigint[]) as wanted (name, count) on wanted.name = s.name
  where s.project_id = :project_id and s.kind = 'SYNCHRONOUS' and s.deleted_at is null
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
    project_id, id, placed_with, recorded_at, number_sequence, number_value, recorded_by_token, recorded_by_role,
    ip_address, metadata, /* include core/append/names */)
  select
    :project_id, r.id, placed_with, statement_timestamp(), drawn.name, coalesce(drawn.first_value, 0) + number_place,
    recorded_by_token, null, ip_address::inet, metadata::jsonb, /* include core/append/names */
  from (
    select
      unnest(:number_sequence::text[]) as number_sequence,
      unnest(:number_place::bigint[]) as number_place,
      /* include core/append/new_records */) as r
  left join drawn on drawn.name = r.number_sequence
), new_append as (
  insert into annals.append (project_id, id, record_ids)
  select :project_id, id, (:id::uuid[])[first : last]
  from unnest(:append_id::uuid[], :append_first::integer[], :append_last::integer[]) as a (id, first, last)
)
select statement_timestamp() as recorded_at, array_agg(name) as sequences, array_agg(first_value) as first_values
from drawn
