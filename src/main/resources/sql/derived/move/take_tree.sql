-- Takes tiles and seeds.
--
-- :project_id  uuid
-- :epoch       bigint
-- :tiles       text    a JSON array
-- :seeds       text    a JSON array
select annals.take_tree(:project_id, :epoch, (:tiles::text)::jsonb, (:seeds::text)::jsonb)
