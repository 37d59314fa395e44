-- The grants of a project in the order of their ids, which is the order of their creation.
--
-- :project_id  uuid
-- :after       uuid      the grant before them
-- :most        integer
--
-- Rows: id uuid, issuer text, claim text, value text, scopes text[], description text (may be null), limits text (JSON
-- object), created_at timestamptz, revoked_at timestamptz (null while it is in force).
select id, issuer, claim, value, scopes, description, limits::text as limits, created_at, revoked_at
from annals.identity_grant
where project_id = :project_id and id > :after
order by id limit :most
