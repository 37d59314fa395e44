-- Lets a projection begin again at the first record of every project.
--
-- :name  text
--
-- No row (there is no such projection) or one: generation integer, the new one.
update annals.projection set generation = generation + 1 where name = :name returning generation
