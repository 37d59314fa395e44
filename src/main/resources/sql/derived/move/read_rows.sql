-- Reads some rows of a table.
--
-- :project_id  uuid
-- :table       text
-- :after       text   the keys of read_page.sql
-- :through     text
--
-- One row: rows text, a JSON array.
select annals.moved_rows(:project_id, :table, (:after::text)::jsonb, (:through::text)::jsonb)::text as rows
