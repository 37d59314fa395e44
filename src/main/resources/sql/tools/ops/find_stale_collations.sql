-- Finds what was made with another version of its collation than the server has now: indexes of the schema, which may lack rows, and
-- the database. The schema's own indexes are in "C", which has no versions.
--
-- Rows: index text, null for the database; collation text; made_with and now text, null if unknown.
with used as (
  select l.oid, l.collname as name,
    case l.collprovider when 'd' then d.datcollversion else l.collversion end as made_with,
    case l.collprovider when 'd' then pg_database_collation_actual_version(d.oid) else pg_collation_actual_version(l.oid) end as now
  from pg_collation as l
  join pg_database as d on d.datname = current_database()
)
select index.relname as index, used.name as collation, used.made_with, used.now
from pg_index as i
join pg_class as index on index.oid = i.indexrelid
join used on used.oid = any (i.indcollation::oid[])
where index.relnamespace = 'annals'::regnamespace and used.made_with is distinct from used.now
union all
select null, name, made_with, now from used where name = 'default' and made_with is distinct from now
order by 1, 2
