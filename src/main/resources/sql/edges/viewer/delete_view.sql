-- Deletes a view, and appends the event.
--
-- :project_id   uuid
-- :name         text
-- :actor_token  uuid
-- :address      text  of the caller
select annals.delete_view(:project_id, :name, :actor_token, (:address::text)::inet)
