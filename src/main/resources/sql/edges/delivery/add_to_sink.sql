-- In the database of a PostgreSQL sink: records, and where their stream stands then. All or nothing, and only where it stood before.
--
-- :stream_id     uuid
-- :rewinds       integer
-- :before        text     where the stream has to stand
-- :after         text     where it stands then
-- :project_id    uuid
-- :sequence_ids  bigint[]
-- :records       text[]   JSON
--
-- One row: stream_id uuid. None if the stream stands somewhere else: then nothing changes.
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
