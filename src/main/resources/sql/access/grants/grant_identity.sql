-- Opens a project to identities with a claim, and appends its event.
--
-- :project_id   uuid
-- :id           uuid
-- :issuer       text    the provider
-- :claim        text
-- :value        text
-- :scopes       text[]
-- :description  text    may be null
-- :limits       text    JSON object
-- :actor_token  uuid    null for the configured admin token
-- :address      text    of the caller
select annals.grant_identity(
  :project_id, :id, :issuer, :claim, :value, :scopes, :description, (:limits::text)::jsonb, :actor_token, (:address::text)::inet)
