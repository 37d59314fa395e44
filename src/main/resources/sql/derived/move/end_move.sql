-- Ends a move, in home.
--
-- :id  uuid
select annals.end_move(:id)
