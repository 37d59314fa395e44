-- Revokes a grant, if it is not yet, and appends the event that says so.
--
-- :project_id   uuid
-- :id           uuid
-- :actor_token  uuid   null for the admin token of the settings
-- :address      text   of the caller
select annals.revoke_identity_grant(:project_id, :id, :actor_token, (:address::text)::inet)
