-- What there is to deliver is too little yet for the sink: gives the lease back, and says when to look again.
--
-- :stream_id     uuid
-- :project_id    uuid    whose feed
-- :epoch         bigint  of the lease
-- :pause_millis  bigint
update annals.stream_progress as p
set retry_at = clock_timestamp() + :pause_millis * interval '1 millisecond', leased_by = null, leased_until = null
where p.stream_id = :stream_id and p.project_id = :project_id and p.epoch = :epoch
