-- Finds the names of a project's recorders. Tokens and identities of other projects have none here.
--
-- :project_id  uuid
-- :id          uuid[]  of tokens and identities
--
-- Rows: recorded_by text; name text, a token's description, or an identity's subject; issuer text, of an identity.
select annals.recorder(token.id, null) as recorded_by, token.description as name, null::text as issuer
from annals.access_token as token
where token.id = any (:id::uuid[]) and token.project_id = :project_id::uuid and token.description is not null
union all
select annals.recorder(identity.id, null), identity.subject, identity.issuer
from annals.identity as identity
where identity.id = any (:id) and identity.subject is not null
  and exists (
    select from annals.identity_entry as entry
    join annals.identity_grant as granted on granted.id = entry.grant_id
    where entry.identity_id = identity.id and granted.project_id = :project_id)
