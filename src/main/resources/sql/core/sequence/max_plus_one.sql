-- The value after the greatest one in a column of the caller's table: see R__25_sequence.sql.
--
-- :table   text   as in SQL: schema.table, quoted if necessary
-- :column  text
--
-- One row: value bigint.
select annals.max_plus_one(:table::text::regclass, :column::text::name) as value
