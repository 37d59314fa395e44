-- Figures of a database.
--
-- One row: projects bigint, here, besides the project annals; suspended bigint, projects that wait for annals reconcile; records bigint, as PostgreSQL's statistics estimate; bytes bigint, null if
-- the service may not connect by itself; version text, of the schema.
select
  (select count(*) from annals.project where placement = 'here' and name <> 'annals') as projects,
  (select count(*) from annals.project where placement = 'sealed' and not is_moving) as suspended,
  (select greatest(reltuples, 0)::bigint from pg_class where oid = 'annals.audit_record'::regclass) as records,
  case when has_database_privilege(current_database(), 'connect') then pg_database_size(current_database()) end as bytes,
  (select version from annals.flyway_schema_history
   where success and version is not null order by installed_rank desc limit 1) as version
