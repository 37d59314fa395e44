-- Adds a project.
--
-- :id    uuid
-- :name  text
--
-- One row if it was added, none if the name is taken: id uuid.
insert into annals.project (id, name) values (:id, :name)
on conflict on constraint project_name_key do nothing
returning id
