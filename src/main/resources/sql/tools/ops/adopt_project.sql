-- Adds a project of another database to home.
--
-- :project   text  the project's row there, as JSON
-- :database  text
select annals.adopt_project((:project::text)::jsonb, :database)
