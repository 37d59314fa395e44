-- Fails if the service lacks a privilege, a table or a function that every request needs: to look up its token, to read a page, to append.
--
-- One row: standby boolean.
select pg_is_in_recovery() as standby
from (
  select bool_and(has_function_privilege(p.oid, 'EXECUTE')) as execute
  from pg_catalog.pg_proc as p
  where p.pronamespace = 'annals'::regnamespace
    and p.proname = any (array['append_apart', 'database_of', 'require_readable', 'is_servable_metadata', 'is_held_id'])
  having count(distinct p.proname) = 5) as functions
left join annals.access_token on false
left join annals.project on false
left join annals.catalogue on false
left join annals.audit_record on false
left join annals.append on false
left join annals.feed_segment on false
where functions.execute
  and has_table_privilege('annals.append', 'INSERT')
  and has_column_privilege('annals.audit_record', 'action', 'INSERT')
