-- Closes a project, and appends the event that says so.
--
-- :id           uuid
-- :actor_token  uuid   null for the admin token of the settings
-- :address      text   of the caller
select annals.close_project(:id, :actor_token, (:address::text)::inet)
