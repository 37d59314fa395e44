-- Creates a project in this database, or in home for another one, and appends its event.
--
-- :id           uuid
-- :name         text
-- :actor_token  uuid   null for the configured admin token
-- :address      text   of the caller
-- :database     text   the other one; null for this one
select annals.create_project(:name, :id, :actor_token, (:address::text)::inet, :database)
