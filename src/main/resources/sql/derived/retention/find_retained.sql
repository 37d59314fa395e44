-- Finds projects with a retention, by id.
--
-- :after     uuid     the project before them; null: begin at the first
-- :projects  integer  the most projects
--
-- Rows: id uuid; awaits_archive boolean, whether records have expired that only wait for an archive.
select id, annals.awaits_archive(id) as awaits_archive from annals.project
where retention_days is not null and placement = 'here' and id > coalesce(:after::uuid, '00000000-0000-0000-0000-000000000000')
order by id
limit :projects
