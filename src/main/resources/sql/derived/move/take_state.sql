-- Replaces the rows of a project that its target takes under the seal.
--
-- :project_id  uuid
-- :epoch       bigint
-- :state       text    a JSON object
select annals.take_state(:project_id, :epoch, (:state::text)::jsonb)
