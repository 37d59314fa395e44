-- Ends a log and begins the next epoch with the same tree, and records it. Its last note can still be read.
--
-- :project_id  uuid
-- :reason      text   for a log that is not halted
--
-- No row, or one: epoch integer, the new one.
with ended as (
  insert into annals.merkle_epoch (project_id, epoch, checkpoint, reason)
  select project_id, epoch, case when cosigned_size = signed_size then coalesce(cosigned, checkpoint) else checkpoint end,
    coalesce(halted, :reason)
  from annals.merkle_log where project_id = :project_id
  returning project_id, epoch, reason
), begun as (
update annals.merkle_log as log
set epoch = log.epoch + 1, signed_size = 0, checkpoint = null, incarnation = null, halted = null,
  cosigned = null, cosigned_size = 0
from ended
where log.project_id = ended.project_id and log.epoch = ended.epoch
returning log.project_id, log.epoch, ended.reason
)
select begun.epoch, annals.record_event('annals.log.next_epoch', 'project', project.id::text, project.name,
  jsonb_build_object('epoch', begun.epoch, 'reason', begun.reason), null, inet_client_addr())
from begun join annals.project on project.id = begun.project_id
