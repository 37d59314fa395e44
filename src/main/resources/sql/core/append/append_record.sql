-- Appends one record to a project: append_records.sql for a batch of one, at half its cost. Sent alone, it is its own
-- transaction: COMMIT, and with it the placing of the record in the feed, is part of it.
--
-- :project_id         uuid
-- :id                 uuid          also its placed_with: an append of this record alone
-- :timestamp          timestamptz
-- :action             text
-- :actor_type         text          this and the following may be null
-- :actor_id           text
-- :actor_name         text
-- :subject_type       text
-- :subject_id         text
-- :subject_name       text
-- :outcome            text
-- :ip_address         text
-- :message            text
-- :metadata           text          a JSON object
-- :recorded_by_token  uuid          the token that the record arrived with
--
-- One row: recorded_at timestamptz.
insert into annals.audit_record (
  project_id, id, placed_with, recorded_at, recorded_by_token, recorded_by_role, ip_address, metadata,
  /* include core/append/names */)
values (
  :project_id, :id, :id, statement_timestamp(), :recorded_by_token, null, (:ip_address::text)::inet, (:metadata::text)::jsonb,
  :timestamp::timestamptz, :action::text,
  :actor_type, :actor_id, :actor_name, :subject_type, :subject_id, :subject_name,
  :outcome::text, :message::text)
returning recorded_at
