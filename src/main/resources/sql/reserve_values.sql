-- Reserves values of a sequence: those that are left, where fewer are left than wanted.
--
-- $1 id       uuid
-- $2 wanted   bigint
-- $3 minimum  bigint   where fewer are left, none is reserved
--
-- No row (exhausted or deleted) or one: the first value bigint, how many bigint.
update annals.sequence
set reserved_from = next_value, next_value = next_value + least($2::bigint, max_value - next_value + 1)
where id = $1 and deleted_at is null and max_value - next_value + 1 >= $3::bigint
returning reserved_from, next_value - reserved_from
