-- Stops a stream until a request resumes it, and appends the event.
--
-- :stream_id   uuid
-- :project_id  uuid    of the feed
-- :epoch       bigint  of the lease
-- :reason      text
--
-- One row: stopped boolean, false if the lease is lost; then nothing changes.
select annals.stop_stream(:stream_id, :project_id, :epoch, :reason) as stopped
