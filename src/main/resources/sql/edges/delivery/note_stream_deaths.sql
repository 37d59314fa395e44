-- Ends expired leases, and stops streams with which too many instances died.
--
-- :instance  uuid     this instance
-- :most      integer  the number of deaths that stops a stream
--
-- Rows: id, project_id uuid, name text, stop_reason text. Streams without a reason are to be delivered alone.
select id, project_id, name, stop_reason from annals.note_stream_deaths(:instance, :most)
