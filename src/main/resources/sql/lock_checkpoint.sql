-- Takes a checkpoint for this transaction, unless another one holds it.
--
-- $1 project_id  uuid
-- $2 projection  text
--
-- No row (there is none, or another instance is at it) or one: sequence_id bigint, generation integer (the projection's),
-- outdated boolean (the state is of an older generation), and a setting of the transaction's: its COMMIT need not wait for
-- the disk, nor have the writers' commits wait behind it. What a crash loses is derived again.
select checkpoint.sequence_id, projection.generation, checkpoint.generation < projection.generation as outdated,
  set_config('synchronous_commit', 'off', true) as synchronous_commit
from annals.projection_checkpoint as checkpoint
join annals.projection on projection.name = checkpoint.projection
where checkpoint.project_id = $1 and checkpoint.projection = $2
for update of checkpoint skip locked
