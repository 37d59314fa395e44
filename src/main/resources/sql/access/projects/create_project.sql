-- Creates a project, and appends its event.
--
-- :id           uuid
-- :name         text
-- :actor_token  uuid   null for the configured admin token
-- :address      text   of the caller
select annals.create_project(:name, :id, :actor_token, (:address::text)::inet)
