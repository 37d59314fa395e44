-- Begins a move, in home, and appends its event. Fails with the constraint move_one if the project is moving already, and with move_ends if
-- it is there already.
--
-- :id           uuid
-- :project_id   uuid
-- :home         text   names of databases
-- :target       text
-- :actor_token  uuid   null for the configured admin token
-- :address      text   of the caller
select annals.start_move(:id, :project_id, :home, :target, :actor_token, (:address::text)::inet)
