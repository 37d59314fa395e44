-- Lifts a legal hold, and appends its event.
--
-- :project_id   uuid
-- :id           uuid
-- :reason       text
-- :actor_token  uuid   null for the configured admin token
-- :address      text   of the caller
select annals.lift_hold(:project_id, :id, :reason, :actor_token, (:address::text)::inet)
