-- Fails if this database does not have a project.
--
-- :project_id  uuid
--
-- One row: here boolean.
select annals.require_readable(:project_id) as here
