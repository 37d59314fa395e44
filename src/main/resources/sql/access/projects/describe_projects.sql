-- What the database of projects alone knows of them.
--
-- :ids  uuid[]
--
-- Rows: id uuid; oldest_sequence_id bigint, of the oldest record that has not expired, or of the next one; archived_through bigint;
-- awaits_archive boolean.
select id, annals.horizon(id) + 1 as oldest_sequence_id, annals.archived_through(id) as archived_through,
  annals.awaits_archive(id) as awaits_archive
from annals.project where id = any (:ids)
