-- Stores where a sequence stands that this transaction has locked.
--
-- $1 id          uuid
-- $2 next_value  bigint
update annals.sequence set reserved_from = next_value, next_value = $2 where id = $1
