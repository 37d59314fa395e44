-- Makes the session the owner of a series: see V5__sequence.sql.
--
-- $1 sequence_id  uuid
--
-- One row: first_value bigint, null where the sequence is exhausted or deleted.
select annals.claim_series($1)
