-- Gives a stream up until somebody has looked at it, and appends the event that says so.
--
-- :stream_id   uuid
-- :project_id  uuid    whose feed
-- :epoch       bigint  of the lease
-- :reason      text
--
-- One row: stopped boolean, false if the lease is lost: then nothing changes.
select annals.stop_stream(:stream_id, :project_id, :epoch, :reason) as stopped
