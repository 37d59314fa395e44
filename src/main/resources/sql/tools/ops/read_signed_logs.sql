-- Reads what logs have signed.
--
-- A row per log that has signed: name text, its project's; checkpoint text, its newest note.
select project.name, log.checkpoint
from annals.merkle_log as log join annals.project on project.id = log.project_id
where log.checkpoint is not null
order by project.id
