-- Lets the next migration grant all privileges again, if the database was restored without them (pg_restore --no-acl) or lost some.
do $do$
declare
  noted text;
begin
  if to_regclass('annals.flyway_schema_history') is null or to_regprocedure('annals.privilege_digest()') is null then
    return;
  end if;
  noted := obj_description('annals'::regnamespace, 'pg_namespace');
  if (case
    when noted like 'Privileges %' then noted <> 'Privileges ' || annals.privilege_digest()
    when to_regrole('annals_service') is null then true
    else not has_schema_privilege('annals_service', 'annals', 'USAGE')
  end) then
    delete from annals.flyway_schema_history where script = 'R__90_privileges.sql';
  end if;
end $do$
