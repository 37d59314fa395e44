-- Adds the admin token, unless there is one.
--
-- $1 id          uuid
-- $2 token_hash  bytea
--
-- A row where it was added, none where there was one: id uuid.
insert into annals.access_token (id, project_id, token_hash, scopes)
values ($1, null, $2, array['admin'])
on conflict do nothing
returning id
