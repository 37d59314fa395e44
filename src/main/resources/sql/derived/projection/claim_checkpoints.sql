-- Locks the checkpoints of a projection that no other transaction holds.
--
-- :project_id  uuid[]
-- :projection  text
--
-- Rows: project_id uuid, sequence_id bigint, generation integer (the projection's), outdated boolean (the data is of an older generation,
-- or an older version derived it). The COMMIT of this transaction does not wait for the disk, so the commits of writers need not wait for
-- it. Data that a crash loses is derived again.
select checkpoint.project_id, checkpoint.sequence_id, projection.generation,
  checkpoint.generation < projection.generation or checkpoint.mark is distinct from annals.projection_mark(projection.name)
    as outdated,
  set_config('synchronous_commit', 'off', true) as synchronous_commit
from annals.projection_checkpoint as checkpoint
join annals.projection on projection.name = checkpoint.projection
join annals.project on project.id = checkpoint.project_id and project.placement = 'here'
where checkpoint.project_id = any (:project_id::uuid[]) and checkpoint.projection = :projection
for update of checkpoint skip locked
