-- Deletes a stream with its progress and its dead letters, and appends the event that says so.
--
-- :project_id   uuid
-- :name         text
-- :actor_token  uuid
-- :address      text  of the caller
select annals.delete_stream(:project_id, :name, :actor_token, (:address::text)::inet)
