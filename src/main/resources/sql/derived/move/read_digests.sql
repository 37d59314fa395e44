-- Reads a digest of all that moves of a project.
--
-- :project_id  uuid
--
-- One row: digests text, a JSON object.
select annals.moved_digests(:project_id)::text as digests
