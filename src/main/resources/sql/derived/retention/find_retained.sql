-- Projects that do not keep their records for ever, in the order of their ids.
--
-- :after     uuid     the project before them; null: from the first on
-- :projects  integer  how many at most
--
-- Rows: id uuid; awaits_archive boolean, whether records have expired and only wait for an archive.
select id, annals.awaits_archive(id) as awaits_archive from annals.project
where retention_days is not null and id > coalesce(:after::uuid, '00000000-0000-0000-0000-000000000000')
order by id
limit :projects
