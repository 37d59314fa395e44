-- Creates or redefines an alert, and appends the event.
--
-- :project_id        uuid
-- :id                uuid     of a new one
-- :name              text
-- :q                 text
-- :threshold         bigint
-- :interval_seconds  integer
-- :enabled           boolean
-- :most              integer  the most alerts of the project
-- :actor_token       uuid
-- :address           text     of the caller
select annals.set_alert(:project_id, :id, :name, :q, :threshold, :interval_seconds, :enabled, :most, :actor_token,
  (:address::text)::inet)
