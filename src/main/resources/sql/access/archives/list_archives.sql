-- Archives of a project in the order of their ids, in which they were recorded.
--
-- :project_id  uuid
-- :after       uuid     the archive before them
-- :most        integer
--
-- Rows: id uuid, first_sequence_id bigint, last_sequence_id bigint, file_name text, bytes bigint, sha256 text (in
-- hexadecimal), created_at timestamptz.
select id, first_sequence_id, last_sequence_id, file_name, bytes, encode(sha256, 'hex') as sha256, created_at
from annals.archive where annals.require_readable(:project_id) and project_id = :project_id and id > :after order by id limit :most
