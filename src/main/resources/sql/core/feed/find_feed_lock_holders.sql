-- Finds the sessions that hold a feed's lock while others wait, and whether they may be ended; see R__47_feed_lock_watchdog.sql.
--
-- :known  text[]  transactions to return while they last, even if no session waits for them
--
-- At least one row:
--   owner text                     the owner of the schema
--   missing text                   the roles that the owner lacks, or null
--   pid integer, transaction text  a holder; null without one
--   project_id uuid, login text    null if no session waits for the holder
--   is_waiting boolean             whether the holder itself waits for a feed's lock
select pg_catalog.quote_ident(schema.owner) as owner, schema.missing, holder.*
from (
  select pg_get_userbyid(nspowner) as owner, (
    select string_agg(role, ', ')
    from unnest(array['pg_signal_backend', 'pg_read_all_stats']) as role
    where not pg_has_role(nspowner, role, 'usage')) as missing
  from pg_catalog.pg_namespace where nspname = 'annals') as schema
left join (
  select pid, transaction::text, project_id, login::text, is_waiting from annals.feed_lock_holders()
  union all
  select pid, transactionid::text, null, null, false from pg_catalog.pg_locks
  where locktype = 'transactionid' and granted and transactionid::text = any (:known)) as holder on true
