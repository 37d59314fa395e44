-- Sets whether the records of a project have to be archived before they expire, and appends its event.
--
-- :id            uuid
-- :required      boolean
-- :actor_token   uuid     null for the configured admin token
-- :address       text     of the caller
select annals.require_archive(:id, :required, :actor_token, (:address::text)::inet)
