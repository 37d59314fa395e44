-- Adds an access token to a project.
--
-- :id           uuid
-- :project_id   uuid
-- :token_hash   bytea
-- :scopes       text[]
-- :description  text, may be null
insert into annals.access_token (id, project_id, token_hash, scopes, description)
values (:id, :project_id, :token_hash, :scopes, :description)
