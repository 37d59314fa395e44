-- Adds new projects to the verification.
insert into annals.verification (project_id)
select id from annals.project
where not exists (select from annals.verification where verification.project_id = project.id)
on conflict do nothing
