-- The access token with a hash, and the state of its project.
--
-- :token_hash  bytea
--
-- No row or one: project_id uuid, scopes text[], id uuid, allowed_addresses text[] (empty: everywhere), ended boolean (it has
-- expired or was revoked), closed boolean (its project takes no records), used boolean (in this hour, so far as is noted).
select
  token.project_id, token.scopes, token.id, token.allowed_addresses::text[] as allowed_addresses,
  token.revoked_at is not null or coalesce(token.expires_at <= clock_timestamp(), false) as ended,
  project.closed_at is not null as closed,
  coalesce(token.last_used_at >= date_trunc('hour', statement_timestamp()), false) as used
from annals.access_token as token
join annals.project on project.id = token.project_id
where token.token_hash = :token_hash
