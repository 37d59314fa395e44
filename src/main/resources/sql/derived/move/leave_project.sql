-- Ends the project in its source.
--
-- :project_id  uuid
-- :epoch       bigint
select annals.leave_project(:project_id, :epoch)
