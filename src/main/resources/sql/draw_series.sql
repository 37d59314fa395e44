-- Takes values from a series: those that are left, where fewer are left than wanted.
--
-- $1 sequence_id  uuid
-- $2 first_value  bigint   names the series
-- $3 wanted       bigint
--
-- No row (used up, or the sequence is deleted) or one: the first value bigint, how many bigint.
update annals.sequence_series
set reserved_from = next_value, next_value = next_value + least($3::bigint, last_value - next_value + 1)
where sequence_id = $1 and first_value = $2 and next_value <= last_value
  and exists (select from annals.sequence where id = $1 and deleted_at is null)
returning reserved_from, next_value - reserved_from
