-- Sets the limits of a project, and appends its event.
--
-- :id           uuid
-- :limits       text   a JSON object
-- :actor_token  uuid   null for the configured admin token
-- :address      text   of the caller
select annals.limit_project(:id, (:limits::text)::jsonb, :actor_token, (:address::text)::inet)
