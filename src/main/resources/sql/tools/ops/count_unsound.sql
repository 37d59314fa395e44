-- Projects in which something was found, in this round or in the one before.
--
-- One row: projects bigint.
select count(*) as projects from annals.verification where found > 0 or found_before > 0
