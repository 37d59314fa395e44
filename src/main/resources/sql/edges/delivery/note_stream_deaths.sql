-- Ends expired leases, and stops streams with which too many instances died.
--
-- :instance  uuid     this instance
-- :most      integer  the number of deaths that stops a stream
--
-- At least one row: id, project_id uuid, name text, stop_reason text, null if there is none; exist boolean, whether the database has any
-- stream. Streams without a reason are to be delivered alone.
select death.id, death.project_id, death.name, death.stop_reason, exists (select from annals.stream) as exist
from (select) as once
left join annals.note_stream_deaths(:instance, :most) as death on true
