-- The first $3 records of an action, from an index on (project_id, action): their places are not in it.
select annals.sequence_id(project_id, id, placed_with) as sequence_id, id, message, metadata
from annals.audit_record
where project_id = $1 and action = $2
order by sequence_id
limit $3
