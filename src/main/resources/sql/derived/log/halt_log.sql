-- Halts a log. Keeps the reason of a log that is already halted.
--
-- :project_id  uuid
-- :reason      text
update annals.merkle_log set halted = :reason where project_id = :project_id and halted is null
