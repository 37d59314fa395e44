-- Whether there is any project yet.
--
-- One row: boolean.
select exists (select from annals.project)
