-- Reserves values of a sequence: as many as wanted, or all that are left.
--
-- :id       uuid
-- :wanted   bigint
-- :minimum  bigint   if fewer are left, none is reserved
--
-- No row (exhausted or deleted) or one: first_value bigint, value_count bigint.
update annals.sequence
set reserved_from = next_value, next_value = next_value + least(:wanted::bigint, max_value - next_value + 1)
where id = :id and deleted_at is null and max_value - next_value + 1 >= :minimum::bigint
returning reserved_from as first_value, next_value - reserved_from as value_count
