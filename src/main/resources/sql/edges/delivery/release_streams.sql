-- Returns all leases of an instance that stops. The new epoch rejects later writes with them.
--
-- :instance  uuid
update annals.stream_progress
set epoch = epoch + 1, leased_by = null, leased_until = null
where leased_by = :instance
