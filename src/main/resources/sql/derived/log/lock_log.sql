-- Takes the states of the logs of some projects for this transaction, in one order for everybody, waiting for whoever has them.
--
-- :project_id  uuid[]
--
-- One row for each that there is: project_id uuid, size bigint, frontier bytea, epoch integer, signed_size bigint, checkpoint
-- text, incarnation text, halted text, cosigned text.
select project_id, size, frontier, epoch, signed_size, checkpoint, incarnation, halted, cosigned
from annals.merkle_log
where project_id = any (:project_id::uuid[])
order by project_id
for update
