-- Reads the cluster and the timeline of a primary.
--
-- One row: cluster bigint, the system identifier, which copies share; and timeline integer, which grows with each promotion.
select
  (select system_identifier from pg_control_system()) as cluster,
  -- The names of WAL files begin with it. The control file has it only from the next checkpoint on.
  ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer as timeline
