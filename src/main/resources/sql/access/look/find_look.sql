-- The look of a project.
--
-- :project_id  uuid
--
-- No row or one: name text, colour text, logo bytea (each may be null), embedders text[].
select name, colour, logo, embedders from annals.look where project_id = :project_id
