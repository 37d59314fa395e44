-- Sets the limits of a project, and appends the event that says so.
--
-- :id           uuid
-- :limits       text   a JSON object
-- :actor_token  uuid   null for the admin token of the settings
-- :address      text   of the caller
select annals.limit_project(:id, (:limits::text)::jsonb, :actor_token, (:address::text)::inet)
