-- Notes how much of a project that arrives was compared with its log.
--
-- :project_id  uuid
-- :epoch       bigint
-- :checked     bigint  records
-- :frontier    bytea   of their tree
select annals.note_checked(:project_id, :epoch, :checked, :frontier)
