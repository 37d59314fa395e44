-- Deletes some terms of a project's dictionary.
--
-- :project_id  uuid
-- :terms       integer  the most terms
--
-- One row: terms bigint, the number of deleted terms.
with deleted as (
  delete from annals.term
  where (project_id, field, term) in (select project_id, field, term from annals.term where project_id = :project_id limit :terms)
  returning true
)
select count(*) as terms from deleted
