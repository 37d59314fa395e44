-- Reads how much of a project that arrives was compared with its log.
--
-- :project_id  uuid
--
-- One row: checked bigint, records; frontier bytea, of their tree.
select checked, frontier from annals.arrival where project_id = :project_id
