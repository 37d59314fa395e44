-- Adds an access token to a project.
--
-- $1 id           uuid
-- $2 project_id   uuid
-- $3 token_hash   bytea
-- $4 scopes       text[]
-- $5 description  text, may be null
insert into annals.access_token (id, project_id, token_hash, scopes, description) values ($1, $2, $3, $4, $5)
