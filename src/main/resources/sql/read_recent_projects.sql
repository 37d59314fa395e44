-- The projects that have just got places: those at the end of the table, where new rows are added, by transactions that were not yet
-- committed at the read before. It is a hint and may miss some, since rows also go where expired ones were.
--
-- :from_page  bigint   the page to begin at, of those that are there
-- :since      bigint   transactions before this one were seen; null for those that are not committed yet
-- :places     integer  how many places at most
--
-- One row for each place, from page to page: project_id uuid, page bigint; a project may have several. And one row without a project:
-- page, the last one of the table, and since bigint, for reads that come later.
with now as materialized (
  select pg_relation_size('annals.feed_segment') / current_setting('block_size')::bigint - 1 as last_page,
    pg_snapshot_xmin(pg_current_snapshot())::text::bigint as since
)
(
  select project_id, (ctid::text::point)[0]::bigint as page, null::bigint as since
  from annals.feed_segment
  where ctid >= (select format('(%s,0)', greatest(least(:from_page::bigint, last_page), 0))::tid from now)
    -- Numbers of transactions count modulo 2^32 in rows.
    and ((xmin::text::bigint - coalesce(:since::bigint, (select since from now))) & x'ffffffff'::bigint) < x'80000000'::bigint
  limit :places
)
union all
select null, last_page, since from now
