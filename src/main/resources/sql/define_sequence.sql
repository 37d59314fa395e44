-- Defines a sequence, unless the project has, or had, one of this name.
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
--
-- One row if it was defined, none if the name is taken: id uuid.
insert into annals.sequence (id, project_id, name, kind, start, max_value, batch_size, low_water_mark, next_value)
values (:id, :project_id, :name, :kind, :start, :max_value, :batch_size, :low_water_mark, :next_value)
on conflict on constraint sequence_name_key do nothing
returning id
