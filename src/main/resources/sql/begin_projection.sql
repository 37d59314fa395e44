-- Makes the checkpoint of a projection of a project, at the start of its feed, if there is none yet.
--
-- :project_id  uuid
-- :projection  text
insert into annals.projection_checkpoint (project_id, projection, sequence_id, generation)
select :project_id, name, 0, generation from annals.projection where name = :projection
on conflict (project_id, projection) do nothing
