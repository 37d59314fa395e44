-- Continues halted logs, and records it. The service halts them again if the cause remains.
--
-- :project_id  uuid   null for all
--
-- Rows: name text, halted text (the cause).
with before as (
  select project_id, halted from annals.merkle_log
  where (:project_id::uuid is null or project_id = :project_id) and halted is not null
  order by project_id for update
), resumed as (
  update annals.merkle_log as log set halted = null, incarnation = null
  from before where log.project_id = before.project_id
  returning log.project_id, before.halted
)
select project.name, resumed.halted, annals.record_event('annals.log.resume', 'project', project.id::text, project.name,
  jsonb_build_object('halted', resumed.halted), null, inet_client_addr())
from resumed join annals.project on project.id = resumed.project_id
