-- Sets the days after which the records of a project expire, and appends its event.
--
-- :id              uuid
-- :retention_days  integer   null: never expire
-- :actor_token     uuid      null for the configured admin token
-- :address         text      of the caller
select annals.set_retention(:id, :retention_days, :actor_token, (:address::text)::inet)
