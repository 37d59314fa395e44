-- Renames a project, and appends the event that says so.
--
-- :id           uuid
-- :name         text
-- :actor_token  uuid   null for the admin token of the settings
-- :address      text   of the caller
select annals.rename_project(:id, :name, :actor_token, (:address::text)::inet)
