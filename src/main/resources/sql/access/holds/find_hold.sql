-- A legal hold of a project.
--
-- :project_id  uuid
-- :id          uuid
--
-- No row or one, with the columns of list_holds.sql.
select id, actor_id, subject_id, reason, created_at, lifted_at, lift_reason
from annals.legal_hold
where annals.require_readable(:project_id) and project_id = :project_id and id = :id
