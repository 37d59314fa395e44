-- Lets a projection begin again at the first record of every project.
--
-- $1 name  text
--
-- No row (there is no such projection) or one: generation integer, the new one.
update annals.projection set generation = generation + 1 where name = $1 returning generation
