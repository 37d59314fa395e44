-- Whether nobody has made a project or a token yet; and the project of an archive that was restored, which does not count.
--
-- One row: is_new boolean; restored uuid, null where none was.
select annals.is_new() as is_new, (select project_id from annals.restored_archive) as restored
