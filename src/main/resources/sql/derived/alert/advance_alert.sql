-- Stores the progress of an alert that this transaction has locked, and appends the event if it was raised.
--
-- :id                 uuid
-- :sequence_id        bigint       the last record counted
-- :window_start       timestamptz
-- :first_sequence_id  bigint
-- :match_count        bigint
-- :raised             boolean      by the record :sequence_id
select annals.advance_alert(:id, :sequence_id, :window_start, :first_sequence_id, :match_count, :raised)
