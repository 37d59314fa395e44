-- Flyway runs this before each migration. A database may have been restored into a cluster without the two roles.
--
-- They cannot log in and are granted to users: annals_writer appends records by plain SQL; annals_service is the service's role after its
-- migrations. Roles belong to the cluster, so another database may have made them.
do $$
declare
  role_name text;
begin
  foreach role_name in array array['annals_writer', 'annals_service'] loop
    begin
      if not exists (select from pg_catalog.pg_roles where rolname = role_name) then
        execute format('create role %I nologin', role_name);
      end if;
    exception
      when duplicate_object or unique_violation then
        null; -- another database of the cluster was migrated at the same moment
    end;
  end loop;
  -- The service logs in as the owner and becomes annals_service, which needs this grant since PostgreSQL 16.
  if not (select rolsuper from pg_catalog.pg_roles where rolname = current_user)
    and not pg_has_role('annals_service', case when current_setting('server_version_num')::integer < 160000 then 'MEMBER' else 'SET' end)
  then
    begin
      execute format('grant annals_service to %I', current_user);
    exception
      when insufficient_privilege then
        null; -- made by another user of the cluster, whose administrator has to grant it
    end;
  end if;
end $$;
