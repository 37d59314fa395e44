-- Halts a log, unless it is halted already.
--
-- :project_id  uuid
-- :reason      text
update annals.merkle_log set halted = :reason where project_id = :project_id and halted is null
