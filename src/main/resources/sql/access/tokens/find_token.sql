-- Finds a token by its hash, with the state of its project.
--
-- :token_hash  bytea
--
-- No row or one: project_id uuid, scopes text[], id uuid, allowed_addresses text[] (empty: everywhere), ended boolean (it, or
-- the token that made it, has expired or was revoked), closed boolean (its project takes no records), used boolean (a use in this hour is recorded),
-- project_limits text, token_limits text (JSON objects), actor_id text, subject_id text (of a viewer link; null: any), catalogue_version bigint (of its
-- project's actions; 0 without a catalogue), database text (of its project; null for home).
select
  token.project_id, token.scopes, token.id, token.allowed_addresses::text[] as allowed_addresses,
  token.revoked_at is not null or coalesce(token.expires_at <= clock_timestamp(), false)
    or maker.revoked_at is not null or coalesce(maker.expires_at <= clock_timestamp(), false) as ended,
  project.closed_at is not null as closed,
  token.filter ->> 'actor_id' as actor_id, token.filter ->> 'subject_id' as subject_id,
  project.limits::text as project_limits, token.limits::text as token_limits,
  coalesce(token.last_used_at >= date_trunc('hour', statement_timestamp()), false) as used,
  coalesce((select version from annals.catalogue where catalogue.project_id = token.project_id), 0) as catalogue_version,
  annals.database_of(project) as database
from annals.access_token as token
join annals.project on project.id = token.project_id
left join annals.access_token as maker on maker.id = token.issued_by
where token.token_hash = :token_hash
