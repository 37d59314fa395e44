-- A grant of a project.
--
-- :project_id  uuid
-- :id          uuid
--
-- No row or one: as in list_identity_grants.sql.
select id, issuer, claim, value, scopes, description, limits::text as limits, created_at, revoked_at
from annals.identity_grant
where project_id = :project_id and id = :id
