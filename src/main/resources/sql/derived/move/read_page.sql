-- Reads the end of the next rows of a table, and their digest.
--
-- :project_id  uuid
-- :table       text
-- :after       text     a key, as a JSON object; null for the first rows
-- :most        integer
--
-- One row: through text, the key of the last one, or null if the table ends before; digest text.
select through::text as through, annals.moved_digest(:project_id, :table, (:after::text)::jsonb, through) as digest
from annals.moved_page(:project_id, :table, (:after::text)::jsonb, :most) as through
