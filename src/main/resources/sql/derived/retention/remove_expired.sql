-- Removes the oldest records of a project that its retention lets go, with what is derived from them, and appends the event
-- that says so. Its transaction holds the checkpoints.
--
-- :project_id  uuid
-- :most        integer   how many, or one append
-- :entries     bytea     of the log's tile that is not full; null where they are not known
--
-- One row: removed bigint, how many records went; needs_entries boolean, whether none went because :entries are needed;
-- horizon bigint, up to where records are gone now.
select gone.removed, gone.needs_entries, gone.horizon
from annals.remove_expired(:project_id, :most, :entries) as gone
