-- Reads the facts about a deployment that its database knows.
--
-- One row. now timestamptz: the server's clock. version text, and major integer. standby boolean. fsync, full_page_writes, checksums,
-- archive_mode and log_timezone text; prepared integer: settings of the server. synchronous text: the standbys that commits
-- wait for, and how many standbys are synchronous or follow at all, synchronous_standbys and standbys bigint. owner text: the owner of
-- the schema; powerful_owner boolean: a superuser. settings and log_keys jsonb: the state of the last start. Sessions of
-- instances: logins text[]; powerful text[]: those with rights beyond annals_service; plain text[]: those without TLS from other
-- machines. sees boolean: whether the caller may see sessions of others. Writers of plain SQL: readers text[]:
-- those with rights beyond annals_writer. pooled jsonb: settings, by login, of logins that become annals_service by themselves. halted,
-- unsound, streams_with_secret, kept_for_ever, removed_without_archive, projects bigint.
with serving as (
  select distinct a.usesysid as id, a.usename::text as name from pg_stat_activity as a
  where a.application_name = 'annals' and a.datname = current_database() and a.usename is not null),
schema_owner as (
  select r.oid as id, r.rolname::text as name, r.rolsuper from pg_namespace as n join pg_roles as r on r.oid = n.nspowner
  where n.nspname = 'annals'),
plain as (
  select distinct a.usename::text as name from pg_stat_activity as a join pg_stat_ssl as s on s.pid = a.pid
  where a.application_name = 'annals' and a.datname = current_database()
    and not s.ssl and a.client_addr is not null and not a.client_addr <<= inet '127.0.0.0/8' and a.client_addr <> inet '::1')
select
  clock_timestamp() as now,
  current_setting('server_version') as version,
  current_setting('server_version_num')::integer / 10000 as major,
  pg_is_in_recovery() as standby,
  current_setting('fsync') as fsync,
  current_setting('full_page_writes') as full_page_writes,
  current_setting('data_checksums') as checksums,
  current_setting('archive_mode') as archive_mode,
  current_setting('log_timezone') as log_timezone,
  current_setting('max_prepared_transactions')::integer as prepared,
  current_setting('synchronous_standby_names') as synchronous,
  (select count(*) from pg_stat_replication where sync_state in ('sync', 'quorum')) as synchronous_standbys,
  (select count(*) from pg_stat_replication) as standbys,
  (select name from schema_owner) as owner,
  (select rolsuper from schema_owner) as powerful_owner,
  (select state from annals.noted_state where kind = 'settings') as settings,
  (select state from annals.noted_state where kind = 'log_keys') as log_keys,
  array(select name from serving order by name) as logins,
  array(select s.name from serving as s join pg_roles as r on r.oid = s.id cross join schema_owner as o
    where r.rolsuper or r.rolcreaterole or r.rolcreatedb or r.rolreplication or r.rolbypassrls or pg_has_role(r.oid, o.id, 'member')
    order by 1) as powerful,
  array(select name from plain order by name) as plain,
  pg_has_role('pg_read_all_stats', 'usage') as sees,
  array(select r.rolname::text from pg_auth_members as m join pg_roles as r on r.oid = m.member cross join schema_owner as o
    where m.roleid = 'annals_writer'::regrole and r.oid <> o.id
      and (r.rolsuper or pg_has_role(r.oid, 'annals_service', 'member') or pg_has_role(r.oid, o.id, 'member'))
    order by 1) as readers,
  (select jsonb_object_agg(r.rolname, s.setconfig) from pg_db_role_setting as s join pg_roles as r on r.oid = s.setrole
    where 'role=annals_service' = any (s.setconfig)) as pooled,
  (select count(*) from annals.merkle_log where halted is not null) as halted,
  (select count(*) from annals.verification where found > 0 or found_before > 0) as unsound,
  (select count(*) from annals.stream where secret is not null) as streams_with_secret,
  (select count(*) from annals.project where id <> annals.administration() and retention_days is null) as kept_for_ever,
  (select count(*) from annals.project where retention_days is not null and not archive_required) as removed_without_archive,
  (select count(*) from annals.project where id <> annals.administration()) as projects
