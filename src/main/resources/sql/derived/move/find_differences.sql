-- Finds what a target has otherwise than its source.
--
-- :project_id  uuid
-- :digests     text   of read_digests.sql in the source
--
-- One row: tables text[], those with the state, in the order in which their rows refer to each other; parts text[], all that differ.
select tables, parts from annals.moved_differences(:project_id, (:digests::text)::jsonb)
