-- An archive of a project.
--
-- :project_id  uuid
-- :id          uuid
--
-- No row or one: id uuid, first_sequence_id bigint, last_sequence_id bigint, file_name text, bytes bigint, sha256 text (in
-- hexadecimal), created_at timestamptz.
select id, first_sequence_id, last_sequence_id, file_name, bytes, encode(sha256, 'hex') as sha256, created_at
from annals.archive where annals.require_readable(:project_id) and project_id = :project_id and id = :id
