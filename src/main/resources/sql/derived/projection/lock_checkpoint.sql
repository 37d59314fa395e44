-- Locks a checkpoint, and waits for it.
--
-- :project_id  uuid
-- :projection  text
--
-- No row or one: sequence_id bigint.
select sequence_id
from annals.projection_checkpoint
where project_id = :project_id and projection = :projection
for update
