-- Whether any projection has a step to take in one of these projects.
--
-- $1  uuid[]
select exists (
  select from unnest($1::uuid[]) as project (id)
  cross join lateral (
    select last_sequence_id from annals.feed_segment
    where project_id = project.id order by first_sequence_id desc limit 1) as head
  cross join annals.projection
  left join annals.projection_checkpoint as checkpoint
    on checkpoint.project_id = project.id and checkpoint.projection = projection.name
  where head.last_sequence_id - coalesce(checkpoint.sequence_id, 0) >= projection.step)
