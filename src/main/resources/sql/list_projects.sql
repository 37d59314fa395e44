-- Projects in the order of their ids, which is that in which they were made.
--
-- :after  uuid      the project before them
-- :most   integer
--
-- Rows: id uuid, name text, created_at timestamptz, closed_at timestamptz (null while it is open).
select id, name, created_at, closed_at from annals.project where id > :after order by id limit :most
