-- Sets a legal hold, and appends the event that says so. Waits for redactions that are under way.
--
-- :project_id   uuid
-- :id           uuid
-- :actor_id     text   may be null
-- :subject_id   text   may be null; both for the whole project
-- :reason       text
-- :actor_token  uuid   null for the admin token of the settings
-- :address      text   of the caller
select annals.set_hold(:project_id, :id, :actor_id, :subject_id, :reason, :actor_token, (:address::text)::inet)
