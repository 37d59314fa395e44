-- Moves a stream to another cursor, and appends the event.
--
-- :project_id   uuid
-- :name         text
-- :feed         uuid     the project of the feed; null for all that the stream follows
-- :cursor       text
-- :actor_token  uuid
-- :address      text     of the caller
-- :by_link      boolean  whether the caller is a viewer link
select annals.rewind_stream(:project_id, :name, :feed, :cursor, :actor_token, (:address::text)::inet, :by_link)
