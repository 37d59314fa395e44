-- The number of projects with findings in this round or the one before.
--
-- One row: projects bigint.
select count(*) as projects from annals.verification where found > 0 or found_before > 0
