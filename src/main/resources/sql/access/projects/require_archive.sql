-- Says whether the records of a project have to be in an archive before they expire, and appends the event that says so.
--
-- :id            uuid
-- :required      boolean
-- :actor_token   uuid     null for the admin token of the settings
-- :address       text     of the caller
select annals.require_archive(:id, :required, :actor_token, (:address::text)::inet)
