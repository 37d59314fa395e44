-- Seals a project in its source.
--
-- :project_id  uuid
-- :database    text    the target
-- :epoch       bigint
--
-- One row: head bigint, log_size bigint, log_root text, in hexadecimal.
select head, log_size, encode(log_root, 'hex') as log_root from annals.seal_project(:project_id, :database, :epoch)
