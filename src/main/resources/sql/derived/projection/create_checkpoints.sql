-- Creates the missing checkpoints of a projection, at the start of the feeds.
--
-- :project_id  uuid[]
-- :projection  text
insert into annals.projection_checkpoint (project_id, projection, sequence_id, generation, mark)
select project_id, projection.name, 0, projection.generation, annals.projection_mark(projection.name)
from annals.projection
cross join unnest(:project_id::uuid[]) as project_id
where projection.name = :projection
on conflict (project_id, projection) do nothing
