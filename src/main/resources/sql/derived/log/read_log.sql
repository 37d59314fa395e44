-- Reads the state of a project's log.
--
-- :project_id  uuid
--
-- No row or one: size bigint, frontier bytea, epoch integer, signed_size bigint, checkpoint text, incarnation text, halted text, cosigned
-- text.
select size, frontier, epoch, signed_size, checkpoint, incarnation, halted, cosigned
from annals.merkle_log
where project_id = :project_id
