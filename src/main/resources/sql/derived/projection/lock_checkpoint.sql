-- Takes a checkpoint for this transaction, waiting for whoever has it.
--
-- :project_id  uuid
-- :projection  text
--
-- One row, or none where there is no checkpoint: sequence_id bigint.
select sequence_id
from annals.projection_checkpoint
where project_id = :project_id and projection = :projection
for update
