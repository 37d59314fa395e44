-- The access token with a hash.
--
-- $1 token_hash  bytea
--
-- No row or one: project_id uuid (null for the admin), scopes text[].
select project_id, scopes from annals.access_token where token_hash = $1
