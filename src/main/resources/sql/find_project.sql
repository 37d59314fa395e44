-- The project with an id or a name.
--
-- :id    uuid   null, if it is named by its name
-- :name  text
--
-- No row or one: id uuid, name text, created_at timestamptz, closed_at timestamptz (null while it is open).
select id, name, created_at, closed_at from annals.project where id = :id
union all
select id, name, created_at, closed_at from annals.project where name = :name and :id::uuid is null
