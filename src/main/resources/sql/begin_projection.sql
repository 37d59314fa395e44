-- Makes the checkpoint of a projection of a project, at the start of its feed, where there is none yet.
--
-- $1 project_id  uuid
-- $2 projection  text
insert into annals.projection_checkpoint (project_id, projection, sequence_id, generation)
select $1, name, 0, generation from annals.projection where name = $2
on conflict (project_id, projection) do nothing
