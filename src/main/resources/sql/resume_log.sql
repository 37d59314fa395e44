-- Lets a log that is halted be signed again, if nothing speaks against it then.
--
-- :project_id  uuid
--
-- No row, or one: halted text, why it was.
update annals.merkle_log as log set halted = null, incarnation = null
from (select project_id, halted from annals.merkle_log where project_id = :project_id for update) as before
where log.project_id = before.project_id and before.halted is not null
returning before.halted
