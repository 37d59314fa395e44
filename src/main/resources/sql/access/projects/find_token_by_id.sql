-- A token of a project.
--
-- :project_id  uuid
-- :id          uuid
--
-- No row or one, with the columns of list_tokens.sql.
select
  id, scopes, allowed_addresses::text[] as allowed_addresses, description, created_at, expires_at, revoked_at, replaced_by,
  last_used_at, limits::text as limits, issued_by,
  filter ->> 'actor_id' as actor_id, filter ->> 'subject_id' as subject_id
from annals.access_token
where project_id = :project_id and id = :id
