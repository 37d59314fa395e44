-- The tables of a database, and the rows that a copy of the database needs: of a project that has moved, only those with events in the
-- administration's feed.
--
-- Rows: name text, a table in the schema annals; columns text, separated by commas; of_this_database text, a condition.
select table_class.relname as name,
  (select string_agg(quote_ident(a.attname), ', ' order by a.attnum)
    from pg_attribute as a where a.attrelid = table_class.oid and a.attnum > 0 and not a.attisdropped) as columns,
  case when moved.way in ('feed', 'tree', 'state', 'derived') and moved.kind is null
    then 'not exists (select from annals.project where placement = ''gone'' and '
      || annals.of_project(moved.name, 'project.id') || ')'
    else 'true' end as of_this_database
from pg_class as table_class left join annals.moved_tables() as moved on moved.name = table_class.relname
where table_class.relnamespace = 'annals'::regnamespace and table_class.relkind = 'r' and table_class.relname <> 'flyway_schema_history'
