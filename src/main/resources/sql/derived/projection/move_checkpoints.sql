-- Moves checkpoints that this transaction has locked.
--
-- :projection   text
-- :generation   integer
-- :project_id   uuid[]
-- :sequence_id  bigint[]  of each project
update annals.projection_checkpoint as checkpoint
set sequence_id = moved.sequence_id, generation = :generation, mark = annals.projection_mark(:projection)
from unnest(:project_id::uuid[], :sequence_id::bigint[]) as moved (project_id, sequence_id)
where checkpoint.project_id = moved.project_id and checkpoint.projection = :projection
