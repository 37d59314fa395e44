-- Where a primary stands in the history of its cluster.
--
-- One row: cluster bigint, the system identifier, which copies share; and timeline integer, which begins anew with each promotion.
select
  (select system_identifier from pg_control_system()) as cluster,
  -- The names of WAL files begin with it. The control file has it only from the next checkpoint on.
  ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer as timeline
