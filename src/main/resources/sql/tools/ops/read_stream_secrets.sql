-- Reads the encrypted secrets of sinks.
--
-- A row per stream that has one: project_id uuid, id uuid, name text, secret bytea.
select project_id, id, name, secret from annals.stream where secret is not null order by id
