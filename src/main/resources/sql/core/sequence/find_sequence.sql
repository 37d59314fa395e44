-- Reads a sequence by its name.
--
-- :project_id  uuid
-- :name        text
--
-- No row or one: the definition, and deleted boolean.
select id, project_id, name, kind, start, max_value, batch_size, low_water_mark, deleted_at is not null as deleted
from annals.sequence
where annals.require_readable(:project_id) and project_id = :project_id and name = :name
