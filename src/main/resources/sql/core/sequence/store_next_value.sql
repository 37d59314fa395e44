-- Stores the next value of a sequence that this transaction has locked.
--
-- :id          uuid
-- :next_value  bigint
update annals.sequence set reserved_from = next_value, next_value = :next_value where id = :id
