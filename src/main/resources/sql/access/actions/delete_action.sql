-- Deletes an action from a catalogue, and appends the event.
--
-- :project_id   uuid
-- :name         text
-- :actor_token  uuid   null for the configured admin token
-- :address      text   of the caller
select annals.delete_catalogue_action(:project_id, :name, :actor_token, (:address::text)::inet)
