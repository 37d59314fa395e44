-- The bounds and the proof of a restored archive.
--
-- :project_id  uuid
--
-- No row, or one: first_sequence_id bigint, last_sequence_id bigint, checkpoint text, left_hashes bytea, right_hashes bytea.
select first_sequence_id, last_sequence_id, checkpoint, left_hashes, right_hashes
from annals.restored_archive where project_id = :project_id
