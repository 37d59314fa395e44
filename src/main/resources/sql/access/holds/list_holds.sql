-- The legal holds of a project in the order of their ids, in which they were set.
--
-- :project_id  uuid
-- :after       uuid      the hold before them
-- :most        integer
--
-- Rows: id uuid, actor_id text, subject_id text (at most one of the two), reason text, created_at timestamptz; lifted_at
-- timestamptz and lift_reason text, null while it is in force.
select id, actor_id, subject_id, reason, created_at, lifted_at, lift_reason
from annals.legal_hold
where annals.require_readable(:project_id) and project_id = :project_id and id > :after
order by id limit :most
