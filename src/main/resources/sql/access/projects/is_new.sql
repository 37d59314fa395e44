-- True for a database without projects and tokens. The project of a restored archive and those of members do not count.
--
-- One row: is_new boolean; restored uuid, null without one.
select annals.is_new() as is_new, (select project_id from annals.restored_archive) as restored
