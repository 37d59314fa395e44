-- Revokes a grant, if it is in force, and appends its event.
--
-- :project_id   uuid
-- :id           uuid
-- :actor_token  uuid   null for the configured admin token
-- :address      text   of the caller
select annals.revoke_identity_grant(:project_id, :id, :actor_token, (:address::text)::inet)
