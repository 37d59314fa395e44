-- How far a database has come, for note_end.sql.
--
-- One row: id uuid, incarnation text, head bigint, mark integer, log_size bigint, log_root text, in hexadecimal.
select id, incarnation, head, mark, log_size, encode(log_root, 'hex') as log_root from annals.database_state()
