-- Returns a lease, unless it is lost.
--
-- :stream_id   uuid
-- :project_id  uuid    of the feed
-- :epoch       bigint  of the lease
update annals.stream_progress as p
set leased_by = null, leased_until = null
where p.stream_id = :stream_id and p.project_id = :project_id and p.epoch = :epoch
