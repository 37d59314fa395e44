-- Removes the oldest expired records of a project, with the data derived from them, and appends the event. Its transaction holds the
-- checkpoints.
--
-- :project_id  uuid
-- :most        integer   the most records, unless one append has more
-- :entries     bytea     the entries of the log's last tile, which is not full; null if they are not known
--
-- One row: removed bigint, the number of removed records; needs_entries boolean, whether none was removed because :entries are needed;
-- horizon bigint, the last removed sequence id.
select gone.removed, gone.needs_entries, gone.horizon
from annals.remove_expired(:project_id, :most, :entries) as gone
