-- Moves a checkpoint that this transaction has taken.
--
-- :project_id   uuid
-- :projection   text
-- :sequence_id  bigint
-- :generation   integer
update annals.projection_checkpoint
set sequence_id = :sequence_id, generation = :generation
where project_id = :project_id and projection = :projection
