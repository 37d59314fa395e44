-- Makes an alert, or says anew what it is, and appends the event that says so.
--
-- :project_id        uuid
-- :id                uuid     of a new one
-- :name              text
-- :q                 text
-- :threshold         bigint
-- :interval_seconds  integer
-- :enabled           boolean
-- :most              integer  how many alerts the project may have
-- :actor_token       uuid
-- :address           text     of the caller
select annals.set_alert(:project_id, :id, :name, :q, :threshold, :interval_seconds, :enabled, :most, :actor_token,
  (:address::text)::inet)
