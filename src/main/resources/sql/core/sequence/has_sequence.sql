-- Why a sequence gave no values.
--
-- :id  uuid
--
-- One row: is_there boolean, whether a sequence is there and not deleted, so that it must be exhausted.
select exists (select from annals.sequence where id = :id and deleted_at is null) as is_there
