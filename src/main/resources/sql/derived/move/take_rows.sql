-- Makes some rows of a table the same as in the source.
--
-- :project_id  uuid
-- :epoch       bigint
-- :table       text
-- :after       text    the keys of read_page.sql
-- :through     text
-- :rows        text    of read_rows.sql
select annals.take_rows(:project_id, :epoch, :table, (:after::text)::jsonb, (:through::text)::jsonb, (:rows::text)::jsonb)
