-- Deletes a sequence. Its name stays taken.
--
-- $1 id  uuid
--
-- A row where it was deleted now, none where it was before: id uuid.
update annals.sequence set deleted_at = clock_timestamp() where id = $1 and deleted_at is null
returning id
