-- Reads the ended logs of a project, the oldest first, at most 1,000.
--
-- :project_id  uuid
--
-- Rows: epoch integer, checkpoint text, reason text.
select epoch, checkpoint, reason from annals.merkle_epoch where annals.require_readable(:project_id) and project_id = :project_id order by epoch limit 1000
