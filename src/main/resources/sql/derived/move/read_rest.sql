-- Reads what no table of a project's state has.
--
-- :project_id  uuid
--
-- One row: rest text, a JSON object.
select annals.moved_rest(:project_id)::text as rest
