-- Deletes a sequence and records the event. Its name stays taken.
--
-- :id           uuid
-- :actor_token  uuid   null for the admin token of the settings, or the service itself
-- :address      text   of the caller; null for the service itself
--
-- One row if it was deleted now, none if it had been deleted before: id uuid.
with deleted as (
  update annals.sequence set deleted_at = clock_timestamp() where id = :id and deleted_at is null
  returning id, project_id, name, kind, start, max_value, batch_size, low_water_mark
)
select id, annals.record_operation(
  'annals.sequence.delete', 'sequence', id::text, 'success',
  jsonb_build_object('before', to_jsonb(deleted), 'after', null), :actor_token, (:address::text)::inet)
from deleted
