-- Defines a sequence, unless the project has, or had, one of this name.
--
-- $1 id              uuid
-- $2 project_id      uuid
-- $3 name            text
-- $4 kind            text
-- $5 start           bigint
-- $6 max_value       bigint
-- $7 batch_size      integer
-- $8 low_water_mark  integer
-- $9 next_value      bigint
--
-- A row where it was defined, none where the name is taken: id uuid.
insert into annals.sequence (id, project_id, name, kind, start, max_value, batch_size, low_water_mark, next_value)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
on conflict on constraint sequence_name_key do nothing
returning id
