-- Takes the checkpoints of some projects for this transaction, unless another one holds them.
--
-- :project_id  uuid[]
-- :projection  text
--
-- One row for each that there is and that no other instance holds: project_id uuid, sequence_id bigint, generation integer (the
-- projection's), outdated boolean (the state is of an older generation, or was made in another way), and a setting for this
-- transaction: its COMMIT does not wait for the disk, so the writers' commits need not wait for it. What a crash loses is derived
-- again.
select checkpoint.project_id, checkpoint.sequence_id, projection.generation,
  checkpoint.generation < projection.generation or checkpoint.mark is distinct from annals.projection_mark(projection.name)
    as outdated,
  set_config('synchronous_commit', 'off', true) as synchronous_commit
from annals.projection_checkpoint as checkpoint
join annals.projection on projection.name = checkpoint.projection
where checkpoint.project_id = any (:project_id::uuid[]) and checkpoint.projection = :projection
for update of checkpoint skip locked
