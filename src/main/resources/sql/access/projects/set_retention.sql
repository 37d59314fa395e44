-- Sets for how many days a project keeps its records, and appends the event that says so.
--
-- :id              uuid
-- :retention_days  integer   null: for ever
-- :actor_token     uuid      null for the admin token of the settings
-- :address         text      of the caller
select annals.set_retention(:id, :retention_days, :actor_token, (:address::text)::inet)
