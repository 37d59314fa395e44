-- Forgets the index of a project.
--
-- $1 project_id  uuid
delete from annals.search_block where project_id = $1
