-- Locks the logs of some projects, always in the same order, and waits for them.
--
-- :project_id  uuid[]
--
-- One row per log that exists: project_id uuid, size bigint, frontier bytea, epoch integer, signed_size bigint, checkpoint text,
-- incarnation text, halted text, cosigned text.
select project_id, size, frontier, epoch, signed_size, checkpoint, incarnation, halted, cosigned
from annals.merkle_log
where project_id = any (:project_id::uuid[])
order by project_id
for update
