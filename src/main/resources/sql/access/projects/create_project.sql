-- Creates a project, and the event that says so.
--
-- :id           uuid
-- :name         text
-- :actor_token  uuid   null for the admin token of the settings
-- :address      text   of the caller
select annals.create_project(:name, :id, :actor_token, (:address::text)::inet)
