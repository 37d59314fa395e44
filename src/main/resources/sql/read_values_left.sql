-- What sequences have left.
--
-- $1 project_id  uuid
-- $2 name        text[]
--
-- A row a sequence that is there, or was: name text, kind text, deleted boolean, values_left bigint.
select name, kind, deleted_at is not null as deleted, max_value - next_value + 1 as values_left
from annals.sequence
where project_id = $1 and name = any ($2::text[])
