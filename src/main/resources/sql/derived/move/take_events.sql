-- Takes the schema's own records.
--
-- :project_id  uuid
-- :epoch       bigint
-- :records     text    a JSON array
select annals.take_events(:project_id, :epoch, (:records::text)::jsonb)
