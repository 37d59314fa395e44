-- Deletes a sequence. Its name stays taken.
--
-- :id  uuid
--
-- One row if it was deleted now, none if it had been deleted before: id uuid.
update annals.sequence set deleted_at = clock_timestamp() where id = :id and deleted_at is null
returning id
