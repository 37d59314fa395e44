-- Pauses a stream until it is resumed, and appends the event.
--
-- :project_id   uuid
-- :name         text
-- :actor_token  uuid
-- :address      text     of the caller
-- :by_link      boolean  whether the caller is a viewer link
select annals.pause_stream(:project_id, :name, :actor_token, (:address::text)::inet, :by_link)
