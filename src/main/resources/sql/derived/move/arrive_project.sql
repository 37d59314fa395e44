-- Makes the project in the target, where it is written by its move alone.
--
-- :project   text    the project's row in the source, as JSON
-- :database  text    the source
-- :epoch     bigint
select annals.arrive_project((:project::text)::jsonb, :database, :epoch)
