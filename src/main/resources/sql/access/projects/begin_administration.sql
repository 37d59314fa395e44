-- Creates the first project and tokens of a database, unless it has some.
--
-- :admin_id    uuid
-- :admin_hash  bytea   null, if the settings name an admin token
-- :project_id  uuid
-- :token_id    uuid
-- :token_hash  bytea   null for no token
--
-- One row: made boolean.
select annals.begin_administration(:admin_id, :admin_hash, :project_id, :token_id, :token_hash) as made
