-- Renews a lease.
--
-- :stream_id     uuid
-- :project_id    uuid     of the feed
-- :epoch         bigint  of the lease
-- :lease_millis  bigint
--
-- One row: stream_id uuid. None if the lease is lost.
update annals.stream_progress as p
set leased_until = clock_timestamp() + :lease_millis * interval '1 millisecond'
where p.stream_id = :stream_id and p.project_id = :project_id and p.epoch = :epoch
returning p.stream_id
