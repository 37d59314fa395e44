-- Redacts fields of a record, and appends the event: see R__55_redaction.sql. Its transaction holds the checkpoints of the project's
-- projections.
--
-- :project_id          uuid
-- :record_id           uuid
-- :fields              text[]   all of them are set
-- :reason              text
-- :canonical_metadata  text     the record's metadata in canonical JSON; null unless it is redacted
-- :drawn_seed          bytea    32 random bytes
-- :event_id            uuid
-- :recorded_by_token   uuid
-- :address             text     of the caller
select annals.redact(
  :project_id, :record_id, :fields, :reason, :canonical_metadata, :drawn_seed, :event_id, :recorded_by_token,
  (:address::text)::inet)
