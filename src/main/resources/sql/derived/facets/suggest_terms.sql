-- Reads terms of a project's dictionary that begin so.
--
-- :project_id  uuid
-- :field       integer  as the dictionary numbers them
-- :prefix      text     in any case
-- :limit       integer
--
-- Rows in the order of the folded terms: term text, as it was written.
select term from annals.terms_from(:project_id, :field::integer, :prefix, :limit::integer) as term where annals.require_readable(:project_id)
