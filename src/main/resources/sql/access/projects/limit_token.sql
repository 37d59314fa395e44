-- Sets the limits of a token, and appends its event.
--
-- :project_id   uuid
-- :id           uuid
-- :limits       text   a JSON object
-- :actor_token  uuid   null for the configured admin token
-- :address      text   of the caller
select annals.limit_token(:project_id, :id, (:limits::text)::jsonb, :actor_token, (:address::text)::inet)
