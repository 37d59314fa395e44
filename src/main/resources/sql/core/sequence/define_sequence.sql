-- Defines a sequence and records the event, unless the project has or had one of this name.
--
-- :id              uuid
-- :project_id      uuid
-- :name            text
-- :kind            text
-- :start           bigint
-- :max_value       bigint
-- :batch_size      integer
-- :low_water_mark  integer
-- :next_value      bigint
-- :actor_token     uuid      null for the admin token of the settings, or the service itself
-- :address         text      of the caller; null for the service itself
--
-- One row if it was defined, none if the name is taken: id uuid.
with defined as (
  insert into annals.sequence (id, project_id, name, kind, start, max_value, batch_size, low_water_mark, next_value)
  values (:id, :project_id, :name, :kind, :start, :max_value, :batch_size, :low_water_mark, :next_value)
  on conflict on constraint sequence_name_key do nothing
  returning id, project_id, name, kind, start, max_value, batch_size, low_water_mark
)
select id, annals.record_operation(
  'annals.sequence.define', 'sequence', id::text, 'success',
  jsonb_build_object('before', null, 'after', to_jsonb(defined)), :actor_token, (:address::text)::inet)
from defined
