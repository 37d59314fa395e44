-- Finds the projects of rows at the end of annals.feed_segment that an earlier read did not see. It may miss some, because rows also go
-- where expired ones were.
--
-- :from_page  bigint   the first page to read
-- :seen       text     the snapshot of the earlier read; null: see nothing
-- :places     integer  the most rows
--
-- One row per row found, from page to page: project_id uuid (may repeat), page bigint. And one row without a project: page, the last one
-- of the table, and snapshot text, for the next read.
with now as materialized (
  select pg_relation_size('annals.feed_segment') / current_setting('block_size')::bigint - 1 as last_page,
    pg_current_snapshot() as snapshot
),
seen as materialized (
  select snapshot, pg_snapshot_xmin(snapshot)::text::bigint as first_unseen
  from (select coalesce(:seen::text::pg_snapshot, snapshot) as snapshot from now) as given
)
(
  select place.project_id, (place.ctid::text::point)[0]::bigint as page, null::text as snapshot
  from annals.feed_segment as place
  -- xmin is a transaction number modulo 2^32
  cross join lateral (
    select (place.xmin::text::bigint - (select first_unseen from seen)) & x'ffffffff'::bigint as distance) as from_first_unseen
  where place.ctid >= (select format('(%s,0)', greatest(least(:from_page::bigint, last_page), 0))::tid from now)
    and distance < x'80000000'::bigint
    and not pg_visible_in_snapshot(((select first_unseen from seen) + distance)::text::xid8, (select snapshot from seen))
  limit :places
)
union all
select null, last_page, snapshot::text from now
