-- Reads the number of values that sequences have left.
--
-- :project_id  uuid
-- :name        text[]
--
-- One row for each sequence that exists or was deleted: name text, kind text, deleted boolean, values_left bigint.
select name, kind, deleted_at is not null as deleted, max_value - next_value + 1 as values_left
from annals.sequence
where annals.require_readable(:project_id) and project_id = :project_id and name = any (:name::text[])
