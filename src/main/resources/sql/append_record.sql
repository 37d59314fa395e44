-- Appends one record to a project: append_records.sql for a batch of one, at half its cost. Sent alone, it is its own
-- transaction: COMMIT, and with it the placing of the record in the feed, is part of it.
--
--  $1 project_id     uuid
--  $2 id             uuid           also its placed_with: an append of this record alone
--  $3 timestamp      timestamptz
--  $4 action         text
--  $5 actor_type     text           this and the following may be null
--  $6 actor_id       text
--  $7 actor_name     text
--  $8 subject_type   text
--  $9 subject_id     text
-- $10 subject_name   text
-- $11 outcome        text
-- $12 ip_address     text
-- $13 message        text
-- $14 metadata       text           a JSON object
-- $15 recorded_by_token  uuid       the token that the record came with
--
-- One row: recorded_at timestamptz.
insert into annals.audit_record (
  project_id, id, placed_with, "timestamp", recorded_at, action,
  actor_type, actor_id, actor_name, subject_type, subject_id, subject_name,
  outcome, ip_address, message, metadata, recorded_by_token, recorded_by_role)
values (
  $1, $2, $2, $3::timestamptz, statement_timestamp(), $4::text,
  $5, $6, $7, $8, $9, $10,
  $11::text, ($12::text)::inet, $13::text, ($14::text)::jsonb, $15, null)
returning recorded_at
