-- Adds a project.
--
-- $1 id    uuid
-- $2 name  text
--
-- A row where it was added, none where the name is taken: id uuid.
insert into annals.project (id, name) values ($1, $2)
on conflict on constraint project_name_key do nothing
returning id
