-- Sets the limits of a token, and appends the event that says so.
--
-- :project_id   uuid
-- :id           uuid
-- :limits       text   a JSON object
-- :actor_token  uuid   null for the admin token of the settings
-- :address      text   of the caller
select annals.limit_token(:project_id, :id, (:limits::text)::jsonb, :actor_token, (:address::text)::inet)
