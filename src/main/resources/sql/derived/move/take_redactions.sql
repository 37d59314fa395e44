-- Takes the next redactions.
--
-- :project_id  uuid
-- :epoch       bigint
-- :redactions  text    a JSON array
select annals.take_redactions(:project_id, :epoch, (:redactions::text)::jsonb)
