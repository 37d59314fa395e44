-- The state of some tokens.
--
-- :ids  uuid[]
--
-- Rows: id uuid, ended boolean (it, or the token that made it, has expired or was revoked), project_limits text, token_limits text (JSON objects).
select
  token.id, token.revoked_at is not null or coalesce(token.expires_at <= clock_timestamp(), false)
    or maker.revoked_at is not null or coalesce(maker.expires_at <= clock_timestamp(), false) as ended,
  project.limits::text as project_limits, token.limits::text as token_limits
from annals.access_token as token
join annals.project on project.id = token.project_id
left join annals.access_token as maker on maker.id = token.issued_by
where token.id = any (:ids)
