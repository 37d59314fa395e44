-- Revokes a token, and appends the event that says so.
--
-- :project_id   uuid
-- :id           uuid
-- :actor_token  uuid   null for the admin token of the settings
-- :address      text   of the caller
select annals.revoke_token(:project_id, :id, :actor_token, (:address::text)::inet)
