-- Locks a log whose note this transaction will sign. Its COMMIT waits for the disk, and so for the commits before it that grew the tree
-- without waiting. It also waits for synchronous replication.
--
-- :project_id  uuid
--
-- No row or one: size bigint, frontier bytea, epoch integer, signed_size bigint, checkpoint text, incarnation text, halted text, cosigned
-- text; database text, the name of this database. Another server, a copy by dump and restore, a promoted standby and a point-in-time
-- restore each have another name. A crash does not change it, nor does a copy of the files.
select size, frontier, epoch, signed_size, checkpoint, incarnation, halted, cosigned,
  concat_ws('/',
    (select system_identifier from pg_control_system()),
    left(pg_walfile_name(pg_current_wal_lsn()), 8),
    (select oid from pg_database where datname = current_database())) as database,
  set_config('synchronous_commit', 'on', true) as synchronous_commit
from annals.merkle_log
where annals.require_readable(:project_id) and project_id = :project_id
for update of merkle_log
