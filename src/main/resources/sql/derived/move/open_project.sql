-- Opens the project in its target.
--
-- :project_id  uuid
-- :epoch       bigint
select annals.open_project(:project_id, :epoch)
