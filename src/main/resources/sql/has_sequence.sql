-- Why a sequence gave no values.
--
-- $1 id  uuid
--
-- A row: whether a sequence is there and not deleted, so that it must be exhausted.
select exists (select from annals.sequence where id = $1 and deleted_at is null)
