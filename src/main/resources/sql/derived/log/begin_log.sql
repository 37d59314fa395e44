-- Creates the missing logs of some projects, empty.
--
-- :project_id  uuid[]
insert into annals.merkle_log (project_id)
select unnest(:project_id::uuid[])
on conflict (project_id) do nothing
