-- Ends the leases of instances that are gone, and stops streams with which too many of them died.
--
-- :instance  uuid     the one that asks
-- :most      integer  how many deaths stop a stream
--
-- Rows: id, project_id uuid, name text, stop_reason text. Those without a reason are to be delivered with nothing beside them.
select id, project_id, name, stop_reason from annals.note_stream_deaths(:instance, :most)
