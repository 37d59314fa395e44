-- Moves an alert on, and appends the event if it was raised. Its transaction holds the alert.
--
-- :id                 uuid
-- :sequence_id        bigint       up to here all are counted
-- :window_start       timestamptz
-- :first_sequence_id  bigint
-- :match_count        bigint
-- :raised             boolean      by the record :sequence_id
select annals.advance_alert(:id, :sequence_id, :window_start, :first_sequence_id, :match_count, :raised)
