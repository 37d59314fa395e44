-- The tokens of a project in the order of their ids, which is the order of their creation.
--
-- :project_id  uuid
-- :after       uuid      the token before them
-- :most        integer
--
-- Rows: id uuid, scopes text[], allowed_addresses text[], description text, created_at timestamptz, expires_at, revoked_at,
-- replaced_by uuid, last_used_at, limits text (a JSON object), issued_by uuid,
-- actor_id text, subject_id text; from description on all but created_at and limits may be null.
select
  id, scopes, allowed_addresses::text[] as allowed_addresses, description, created_at, expires_at, revoked_at, replaced_by,
  last_used_at, limits::text as limits, issued_by,
  filter ->> 'actor_id' as actor_id, filter ->> 'subject_id' as subject_id
from annals.access_token
where project_id = :project_id and id > :after
order by id limit :most
