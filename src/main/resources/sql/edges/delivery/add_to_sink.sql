-- In the database of a PostgreSQL sink: adds records and moves the cursor, if the cursor is the expected one. Otherwise changes nothing.
--
-- :stream_id     uuid
-- :rewinds       integer
-- :before        text     the expected cursor
-- :after         text     the cursor after the records
-- :project_id    uuid
-- :sequence_ids  bigint[]
-- :records       text[]   JSON
--
-- One row: stream_id uuid. None if the cursor is another one.
with moved as (
  update annals_cursor set cursor = :after
  where stream_id = :stream_id and project_id = :project_id and rewinds = :rewinds and cursor = :before
  returning stream_id
), added as (
  insert into annals_record (project_id, sequence_id, record)
  select :project_id, new.sequence_id, new.record::jsonb
  from unnest(:sequence_ids::bigint[], :records::text[]) as new (sequence_id, record), moved
  on conflict (project_id, sequence_id) do update set record = excluded.record, delivered_at = now()
)
select stream_id from moved
