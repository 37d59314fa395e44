-- The projects that have just got places: those on the last pages of the table, where new rows are added. It is a hint and may miss
-- some: rows also go where expired ones were, and a transaction may commit long after it has added its row.
--
-- :from_page  bigint   the page to begin at; null is the last one
-- :places     integer  how many places at most
--
-- One row for each place, from page to page: project_id uuid, page bigint. A project may have several.
select project_id, (ctid::text::point)[0]::bigint as page
from annals.feed_segment
where ctid >= (
  select format('(%s,0)', greatest(least(:from_page::bigint, last_page), 0))::tid
  from (
    select pg_relation_size('annals.feed_segment') / current_setting('block_size')::bigint - 1 as last_page) as size)
limit :places
