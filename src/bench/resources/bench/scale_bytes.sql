-- The bytes of tables, with what is stored out of line, and of their indexes, by what they hold.
select part, sum(pg_table_size(oid))::bigint as table_bytes, sum(pg_indexes_size(oid))::bigint as index_bytes
from pg_class
cross join lateral (
  select case
    when relname = 'audit_record' then 'records'
    when relname in ('append', 'feed_segment') then 'places'
    when relname = 'search_block' then 'search'
    when relname like 'daily%' then 'statistics'
    when relname like 'merkle%' then 'log'
    else 'rest' end as part) as held
where relkind = 'r' and relnamespace = 'annals'::regnamespace
group by part
order by array_position(array['records', 'places', 'search', 'statistics', 'log', 'rest'], part)
