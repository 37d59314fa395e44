-- The newest move of a project, in home.
--
-- :project_id  uuid
--
-- No row or one: id uuid, project_id uuid, source text, target text, state text, copied bigint, head bigint (null until it is switched), last_error text (may be
-- null), started_at timestamptz, ended_at timestamptz (null while it goes on).
select id, project_id, source, target, state, copied, head, last_error, started_at, ended_at
from annals.move where project_id = :project_id order by epoch desc limit 1
