-- Sets a stream to another place of its feed, and appends the event that says so.
--
-- :project_id   uuid
-- :name         text
-- :cursor       text
-- :actor_token  uuid
-- :address      text  of the caller
select annals.rewind_stream(:project_id, :name, :cursor, :actor_token, (:address::text)::inet)
