-- Keeps the project in its source.
--
-- :project_id  uuid
-- :epoch       bigint
select annals.stay_here(:project_id, :epoch)
