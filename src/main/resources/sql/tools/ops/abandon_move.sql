-- Ends a move that cannot go on, in home.
--
-- :id  uuid
select annals.abandon_move(:id)
