-- Takes a checkpoint for this transaction, unless another one holds it.
--
-- :project_id  uuid
-- :projection  text
--
-- No row (there is none, or another instance holds it) or one: sequence_id bigint, generation integer (the projection's),
-- outdated boolean (the state is of an older generation), and a setting for this transaction: its COMMIT does not wait for
-- the disk, so the writers' commits need not wait for it. What a crash loses is derived again.
select checkpoint.sequence_id, projection.generation, checkpoint.generation < projection.generation as outdated,
  set_config('synchronous_commit', 'off', true) as synchronous_commit
from annals.projection_checkpoint as checkpoint
join annals.projection on projection.name = checkpoint.projection
where checkpoint.project_id = :project_id and checkpoint.projection = :projection
for update of checkpoint skip locked
