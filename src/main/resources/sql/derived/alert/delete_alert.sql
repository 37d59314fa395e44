-- Deletes an alert, and appends the event.
--
-- :project_id   uuid
-- :name         text
-- :actor_token  uuid
-- :address      text  of the caller
select annals.delete_alert(:project_id, :name, :actor_token, (:address::text)::inet)
