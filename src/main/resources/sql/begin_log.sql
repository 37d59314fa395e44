-- Makes the log of a project, without any record, if there is none yet.
--
-- :project_id  uuid
insert into annals.merkle_log (project_id) values (:project_id) on conflict (project_id) do nothing
