-- Lifts a legal hold, and appends the event that says so.
--
-- :project_id   uuid
-- :id           uuid
-- :reason       text
-- :actor_token  uuid   null for the admin token of the settings
-- :address      text   of the caller
select annals.lift_hold(:project_id, :id, :reason, :actor_token, (:address::text)::inet)
