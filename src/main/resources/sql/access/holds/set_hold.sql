-- Sets a legal hold, and appends its event. Waits for redactions in progress.
--
-- :project_id   uuid
-- :id           uuid
-- :actor_id     text   may be null
-- :subject_id   text   may be null; both for the whole project
-- :reason       text
-- :actor_token  uuid   null for the configured admin token
-- :address      text   of the caller
select annals.set_hold(:project_id, :id, :actor_id, :subject_id, :reason, :actor_token, (:address::text)::inet)
