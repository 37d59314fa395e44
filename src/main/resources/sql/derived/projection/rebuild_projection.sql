-- Starts the rebuild of a projection.
--
-- :name  text
--
-- No row (unknown name) or one: generation integer, the new one.
update annals.projection set generation = generation + 1 where name = :name returning generation
