-- Makes a token in the place of another, and appends the event that says so.
--
-- :project_id   uuid
-- :id           uuid     the old one
-- :new_id       uuid
-- :token_hash   bytea    of the new one
-- :overlap      integer  for how many seconds the old one is valid
-- :actor_token  uuid     null for the admin token of the settings
-- :address      text     of the caller
select annals.rotate_token(
  :project_id, :id, :new_id, :token_hash, make_interval(secs => :overlap::integer), :actor_token, (:address::text)::inet)
