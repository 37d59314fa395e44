-- Adds the admin token, unless there is one.
--
-- :id          uuid
-- :token_hash  bytea
--
-- One row if it was added, none if there was one already: id uuid.
insert into annals.access_token (id, project_id, token_hash, scopes)
values (:id, null, :token_hash, array['admin'])
on conflict do nothing
returning id
