-- Makes the session the owner of a series: see R__25_sequence.sql.
--
-- :sequence_id  uuid
--
-- One row: first_value bigint, null if the sequence is exhausted or deleted.
select annals.claim_series(:sequence_id) as first_value
