-- The state of some grants.
--
-- :ids  uuid[]
--
-- Rows: id uuid, ended boolean (it was revoked), project_limits text (JSON object).
select granted.id, granted.revoked_at is not null as ended, project.limits::text as project_limits
from annals.identity_grant as granted
join annals.project on project.id = granted.project_id
where granted.id = any (:ids)
