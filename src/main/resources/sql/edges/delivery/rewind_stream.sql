-- Sets a stream to another place, and appends the event that says so.
--
-- :project_id   uuid
-- :name         text
-- :feed         uuid  whose feed; null for all that the stream follows
-- :cursor       text
-- :actor_token  uuid
-- :address      text  of the caller
select annals.rewind_stream(:project_id, :name, :feed, :cursor, :actor_token, (:address::text)::inet)
