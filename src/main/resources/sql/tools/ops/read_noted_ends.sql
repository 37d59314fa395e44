-- What this database has noted of others.
--
-- Rows: id uuid, of the other's project annals; head bigint; mark integer; log_size bigint; log_root text, in hexadecimal.
select id, head, mark, log_size, encode(log_root, 'hex') as log_root from annals.database_end
