-- Forgets the counts of a project.
--
-- $1 project_id  uuid
with counted as (
  delete from annals.daily_count where project_id = $1
)
delete from annals.daily_total where project_id = $1
