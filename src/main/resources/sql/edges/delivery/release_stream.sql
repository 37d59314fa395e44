-- Gives a lease back, if it is not lost.
--
-- :stream_id   uuid
-- :project_id  uuid    whose feed
-- :epoch       bigint  of the lease
update annals.stream_progress as p
set leased_by = null, leased_until = null
where p.stream_id = :stream_id and p.project_id = :project_id and p.epoch = :epoch
