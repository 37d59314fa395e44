-- Moves the trees of logs that this transaction has locked.
--
-- :project_id  uuid[]
-- :size        bigint[]  of each project
-- :frontier    bytea[]
update annals.merkle_log as log
set size = moved.size, frontier = moved.frontier
from unnest(:project_id::uuid[], :size::bigint[], :frontier::bytea[]) as moved (project_id, size, frontier)
where log.project_id = moved.project_id
