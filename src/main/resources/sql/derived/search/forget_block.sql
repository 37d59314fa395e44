-- Deletes a block of a project's index. Its transaction holds the checkpoint.
--
-- :project_id  uuid
-- :block       bigint
delete from annals.search_block where project_id = :project_id and block = :block
