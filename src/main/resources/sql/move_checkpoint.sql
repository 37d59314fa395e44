-- Moves a checkpoint that this transaction has taken.
--
-- $1 project_id   uuid
-- $2 projection   text
-- $3 sequence_id  bigint
-- $4 generation   integer
update annals.projection_checkpoint
set sequence_id = $3, generation = $4
where project_id = $1 and projection = $2
