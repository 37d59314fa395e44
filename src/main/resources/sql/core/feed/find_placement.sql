-- Finds out whether this database has a project.
--
-- :project_id  uuid
--
-- One row, or none if the database never had it: placement text; moved_to text, the database that has the project.
select placement, moved_to from annals.project where id = :project_id
