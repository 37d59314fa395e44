-- Takes the state of a project's log for this transaction, in which a note is signed: its COMMIT waits for the disk, and so for
-- the commits of the tree's growth before it, which did not. With replication that is synchronous it waits for that, too.
--
-- :project_id  uuid
--
-- No row, or one: size bigint, frontier bytea, epoch integer, signed_size bigint, checkpoint text, incarnation text, halted
-- text, cosigned text; and database text, which names this one: another server, a copy made by dump and restore, a promoted standby and a
-- restore to a point in time each have another name. (A crash changes nothing, and neither does a copy of the files.)
select size, frontier, epoch, signed_size, checkpoint, incarnation, halted, cosigned,
  concat_ws('/',
    (select system_identifier from pg_control_system()),
    left(pg_walfile_name(pg_current_wal_lsn()), 8),
    (select oid from pg_database where datname = current_database())) as database,
  set_config('synchronous_commit', 'on', true) as synchronous_commit
from annals.merkle_log
where project_id = :project_id
for update of merkle_log
