-- The watchdog of feeds' locks. A writer holds its project's lock from the placing of its records to the end of its transaction. A
-- deferred trigger of the writer runs in between, for as long as it likes: no timeout of PostgreSQL applies to COMMIT. The service ends
-- such a session if its operator wants that, and has granted the schema's owner the right.

-- The sessions that others wait for at a feed's lock. The first to wait holds the tuple lock of the project's row, and waits for
-- the transaction that has locked the row.
--
-- Left out are superusers, the schema's owner, and the service's logins. Left out, too, is a commit that waits for a synchronous
-- standby: ending it would show records that no standby has. Only pg_read_all_stats shows that, so without it there are no rows.
create or replace function annals.feed_lock_holders()
  returns table (pid integer, transaction xid, project_id uuid, login name, is_waiting boolean)
language sql security definer set search_path = pg_catalog, pg_temp
as $$
  with held as materialized (
    select l.pid, l.locktype, l.page, l.tuple, l.transactionid, l.granted,
      l.locktype = 'tuple' and l.relation = 'annals.project'::regclass
        and l.database = (select oid from pg_database where datname = current_database()) as is_feed
    from pg_locks as l
    where l.locktype in ('tuple', 'transactionid')
  )
  select distinct holder.pid, holder.transactionid, project.id, session.usename,
    exists (select from held as other where other.is_feed and other.pid = holder.pid)
  from held as first
  join held as waiting on waiting.pid = first.pid and waiting.locktype = 'transactionid' and not waiting.granted
  join held as holder on holder.transactionid = waiting.transactionid and holder.granted
  join pg_stat_activity as session on session.pid = holder.pid
  join annals.project as project on project.ctid = format('(%s,%s)', first.page, first.tuple)::tid
  where first.is_feed and first.granted
    and pg_has_role(current_user, 'pg_read_all_stats', 'usage')
    and not pg_has_role(session.usesysid, current_user, 'member')
    and not pg_has_role(session.usesysid, 'annals_service', 'member')
    and session.wait_event is distinct from 'SyncRep'
$$;

-- Ends a session that still holds a feed's lock, in this transaction, and that others still wait for. Whether it was that. How
-- long it has held the lock is the caller's word.
create or replace function annals.end_feed_lock_holder(pid integer, transaction xid, held interval) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  holder record;
begin
  select h.login, h.project_id into holder from annals.feed_lock_holders() as h
  where h.pid = end_feed_lock_holder.pid and h.transaction = end_feed_lock_holder.transaction;
  if not found or not pg_terminate_backend(pid) then
    return false;
  end if;
  perform annals.record_event('annals.writer.end', 'role', holder.login, null, jsonb_build_object(
    'project_id', holder.project_id, 'pid', pid, 'held_seconds', trunc(extract(epoch from held))), null, null);
  return true;
end $$;
