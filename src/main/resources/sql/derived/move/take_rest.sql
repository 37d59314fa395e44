-- Takes what no table of a project's state has.
--
-- :project_id  uuid
-- :epoch       bigint
-- :name        text    of the project in home
-- :rest        text    of read_rest.sql
select annals.take_rest(:project_id, :epoch, :name, (:rest::text)::jsonb)
