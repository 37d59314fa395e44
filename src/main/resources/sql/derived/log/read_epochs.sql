-- The logs of a project that have ended.
--
-- :project_id  uuid
--
-- Rows from the oldest on, at most 1,000: epoch integer, checkpoint text, reason text.
select epoch, checkpoint, reason from annals.merkle_epoch where project_id = :project_id order by epoch limit 1000
