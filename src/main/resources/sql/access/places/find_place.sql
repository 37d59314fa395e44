-- Where a project is, as home knows.
--
-- :project_id  uuid
--
-- No row or one: database text, null for home.
select annals.database_of(project) as database from annals.project where id = :project_id
