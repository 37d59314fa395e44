-- Makes an instance the mover of a move, or extends its lease, in home. Fails with 55006 if another instance carries the move.
--
-- :id        uuid
-- :instance  uuid
-- :seconds   integer
--
-- One row: project_id uuid, source text, target text, epoch bigint, state text; name text, of the project.
select (m).project_id, (m).source, (m).target, (m).epoch, (m).state,
  (select name from annals.project where id = (m).project_id) as name
from (select annals.lease_move(:id, :instance, :seconds) as m offset 0) as leased
