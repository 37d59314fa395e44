-- The projects that were given places lately: those on the last pages of the places, which are written one behind the other. Room
-- that expired places left is used again, and a transaction may be open for long: so this is where to look first, and not all.
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
