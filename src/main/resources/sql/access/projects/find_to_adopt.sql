-- The project that a database has under a name.
--
-- :name  text
--
-- No row or one: id uuid.
select id from annals.project where name = :name and placement = 'here'
