-- Finds the sessions that are in a transaction, of one statement or more, until its commit is complete. Any role may see that: each
-- transaction holds the lock of its own virtual id.
--
-- :backends  integer[]  the sessions' server processes
--
-- One row: started bigint, as in check_session.sql; working integer[], the processes of those in a transaction.
select
  (extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint as started,
  array(
    select pid from pg_catalog.pg_locks
    where locktype = 'virtualxid' and mode = 'ExclusiveLock' and granted and pid = any(:backends)) as working
