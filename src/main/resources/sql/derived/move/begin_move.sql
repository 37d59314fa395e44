-- Begins a move at its source.
--
-- :project_id  uuid
-- :database    text    the target
-- :epoch       bigint
--
-- One row: project jsonb, the project's row.
select to_jsonb(annals.begin_move(:project_id, :database, :epoch))::text as project
