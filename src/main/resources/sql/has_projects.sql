-- Whether there are any projects yet.
--
-- One row: any_project boolean.
select exists (select from annals.project) as any_project
