-- Revokes a token, and appends its event.
--
-- :project_id   uuid
-- :id           uuid
-- :actor_token  uuid   null for the configured admin token
-- :address      text   of the caller
select annals.revoke_token(:project_id, :id, :actor_token, (:address::text)::inet)
