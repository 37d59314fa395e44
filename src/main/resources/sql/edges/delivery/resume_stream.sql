-- Lets a stream go on that was paused or stopped, or that waits after a failure, and appends the event that says so.
--
-- :project_id   uuid
-- :name         text
-- :actor_token  uuid
-- :address      text  of the caller
select annals.resume_stream(:project_id, :name, :actor_token, (:address::text)::inet)
