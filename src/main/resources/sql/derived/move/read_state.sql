-- Reads the rows of a project that its target takes under the seal.
--
-- :project_id  uuid
--
-- One row: state text, a JSON object.
select annals.moved_state(:project_id)::text as state
