-- Cancels a move in home, unless it is switched or has ended, and appends its event.
--
-- :id           uuid
-- :actor_token  uuid   null for the configured admin token
-- :address      text   of the caller
--
-- One row: cancelled boolean, now or before.
select annals.cancel_move(:id, :actor_token, (:address::text)::inet) as cancelled
