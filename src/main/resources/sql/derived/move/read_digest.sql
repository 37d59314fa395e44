-- Reads the digest of some rows of a table.
--
-- :project_id  uuid
-- :table       text
-- :after       text   the keys of read_page.sql
-- :through     text
--
-- One row: digest text.
select annals.moved_digest(:project_id, :table, (:after::text)::jsonb, (:through::text)::jsonb) as digest
