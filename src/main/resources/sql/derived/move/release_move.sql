-- Ends the lease of an instance, in home.
--
-- :id        uuid
-- :instance  uuid
select annals.release_move(:id, :instance)
