-- Reads the longest time that a session has waited for the lock of a feed, which is the lock of the project's row. The first
-- session to wait holds the row's tuple lock and waits for the transaction with the row lock. The others wait for the tuple lock.
--
-- One row: seconds double precision, 0 if no session waits.
with held as materialized (
  select pid, locktype, database, relation, granted, waitstart from pg_catalog.pg_locks
)
select coalesce(extract(epoch from clock_timestamp() - min(waitstart)), 0)::double precision as seconds
from held
where not granted and pid in (
  select pid from held
  where locktype = 'tuple' and relation = 'annals.project'::regclass
    and database = (select oid from pg_catalog.pg_database where datname = current_database()))
