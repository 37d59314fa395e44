-- The access token with a hash.
--
-- :token_hash  bytea
--
-- No row or one: project_id uuid (null for the admin), scopes text[], id uuid.
select project_id, scopes, id from annals.access_token where token_hash = :token_hash
