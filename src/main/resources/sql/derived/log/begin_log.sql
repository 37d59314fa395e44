-- Makes the logs of some projects, without any record, where there are none yet.
--
-- :project_id  uuid[]
insert into annals.merkle_log (project_id)
select unnest(:project_id::uuid[])
on conflict (project_id) do nothing
