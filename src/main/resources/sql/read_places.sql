-- The places of appends that were committed.
--
-- $1 project_id  uuid
-- $2 append_id   uuid[]
--
-- A row an append: append_id uuid, first_sequence_id bigint.
select append_id, first_sequence_id
from annals.feed_segment
where project_id = $1 and append_id = any ($2::uuid[])
