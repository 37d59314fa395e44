-- Tells why a sequence gave no values.
--
-- :id  uuid
--
-- One row: is_there boolean: the sequence exists and is not deleted, so it is exhausted.
select exists (select from annals.sequence where id = :id and deleted_at is null) as is_there
