-- Sets the look of a project, and appends its event.
--
-- :project_id   uuid
-- :name         text    may be null
-- :colour       text    may be null
-- :logo         bytea   may be null
-- :embedders    text[]
-- :actor_token  uuid    null for the configured admin token
-- :address      text    of the caller
select annals.set_look(:project_id, :name, :colour, :logo, :embedders, :actor_token, (:address::text)::inet)
