-- Locks a sequence until the transaction ends, and reads its next value.
--
-- :id  uuid
--
-- No row (deleted) or one: next_value bigint, max_value bigint.
select next_value, max_value from annals.sequence where id = :id and deleted_at is null
for update
