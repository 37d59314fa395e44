-- The value after the greatest one in a column of the caller's table: see V5__sequence.sql.
--
-- $1 table   text   as PostgreSQL reads it: schema.table, quoted where need be
-- $2 column  text
--
-- One row: bigint.
select annals.max_plus_one($1::text::regclass, $2::text::name)
