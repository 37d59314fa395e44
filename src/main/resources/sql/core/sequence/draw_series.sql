-- Draws values from a series: as many as wanted, or all that are left.
--
-- :sequence_id  uuid
-- :first_value  bigint   names the series
-- :wanted       bigint
--
-- No row (used up, or the sequence is deleted) or one: first_value bigint, value_count bigint.
update annals.sequence_series
set reserved_from = next_value, next_value = next_value + least(:wanted::bigint, last_value - next_value + 1)
where sequence_id = :sequence_id and first_value = :first_value and next_value <= last_value
  and exists (select from annals.sequence where id = :sequence_id and deleted_at is null)
returning reserved_from as first_value, next_value - reserved_from as value_count
