-- Replaces a token by a new one, and appends its event.
--
-- :project_id   uuid
-- :id           uuid     the old one
-- :new_id       uuid
-- :token_hash   bytea    of the new one
-- :overlap      integer  seconds for which the old one stays valid
-- :actor_token  uuid     null for the configured admin token
-- :address      text     of the caller
select annals.rotate_token(
  :project_id, :id, :new_id, :token_hash, make_interval(secs => :overlap::integer), :actor_token, (:address::text)::inet)
