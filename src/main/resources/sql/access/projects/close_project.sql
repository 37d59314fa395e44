-- Closes a project, and appends its event.
--
-- :id           uuid
-- :actor_token  uuid   null for the configured admin token
-- :address      text   of the caller
select annals.close_project(:id, :actor_token, (:address::text)::inet)
