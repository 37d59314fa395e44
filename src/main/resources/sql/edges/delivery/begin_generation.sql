-- Begins another generation at the cursor, and returns the lease, unless it is lost.
--
-- :stream_id   uuid
-- :project_id  uuid    of the feed
-- :epoch       bigint  of the lease
update annals.stream_progress as p
set rewinds = p.rewinds + 1, leased_by = null, leased_until = null
where p.stream_id = :stream_id and p.project_id = :project_id and p.epoch = :epoch
