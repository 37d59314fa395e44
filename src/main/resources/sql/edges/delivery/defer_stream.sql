-- Returns the lease of a feed with too few records for a batch, and sets the time of the next look.
--
-- :stream_id     uuid
-- :project_id    uuid    of the feed
-- :epoch         bigint  of the lease
-- :pause_millis  bigint
update annals.stream_progress as p
set retry_at = clock_timestamp() + :pause_millis * interval '1 millisecond', leased_by = null, leased_until = null
where p.stream_id = :stream_id and p.project_id = :project_id and p.epoch = :epoch
