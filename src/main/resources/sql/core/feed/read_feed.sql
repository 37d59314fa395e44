-- Reads a page of a feed, oldest first, without filters.
--
-- :project_id   uuid
-- :sequence_id  bigint    the page begins behind it; 0 is the start of the feed
-- :limit        integer   the largest number of records
--
-- The first row has the places of the page:
--   record_ids uuid[]  in their order, without a gap. Unless :sequence_id is 0, its own record is the first, so that the caller
--                      can check its cursor
--   marks integer[]    the mark of each segment
--   numbers bigint[]   the last sequence id of the page, or null; the number of redactions in the project, or -1 if this database
--                      does not have the project; the sequence id up to which records have expired (the last of these places still exists, its record does not); the first
--                      sequence id of each segment, unless each segment has one record
-- The other rows have one record each, in any order. They repeat these three columns as nulls, so there are only three.
--
-- A message or metadata that takes more than 2 KiB on disk is left out, so that a page of any records is small here: metadata is
-- then '', which is no JSON, and read_large_records.sql reads as many of them as the page may have bytes. PostgreSQL knows the
-- size of a stored value without reading it.
--
-- Sequence ids have no gap, so the range of the page's segments is known beforehand.
--
-- The records are fetched as id = any (array): PostgreSQL 17 and newer walk the index once for all of them, and a
-- join over the places descends it once a record.
--
-- The columns of both halves have the same types: otherwise each row is copied once more.
with segment as materialized (
  select append_id, first_sequence_id, last_sequence_id, mark
  from annals.feed_segment
  where project_id = :project_id
    -- from the segment that holds :sequence_id
    and first_sequence_id >= coalesce(
      (select max(first_sequence_id) from annals.feed_segment
       where project_id = :project_id and first_sequence_id <= :sequence_id), 1)
    and first_sequence_id <= :sequence_id::bigint + :limit::integer
  order by first_sequence_id
), page as materialized (
  select
    least(max(last_sequence_id), :sequence_id::bigint + :limit::integer) as last_sequence_id,
    case
      -- appends of one record each, which are named by it: an eighth of the page's cost
      when max(last_sequence_id) - min(first_sequence_id) < count(*) then array_agg(append_id)
      else array(
        select unnest(case
          when first_sequence_id = last_sequence_id then array[append_id]
          -- a subquery and no join, which a bad guess of the planner's could turn into a walk over all appends
          else (
            -- no append has more than 256
            select record_ids[
              least(greatest(:sequence_id - first_sequence_id, 0), 256) + 1 :
              least(:sequence_id::bigint + :limit::integer - first_sequence_id, 256) + 1]
            from annals.append
            where project_id = :project_id and id = append_id)
          end)
        from segment)
    end as record_ids,
    array_agg(mark) as marks,
    case when max(last_sequence_id) - min(first_sequence_id) >= count(*) then array(select first_sequence_id from segment) end
      as segment_starts
  from segment
)
select
  case when horizon.sequence_id = greatest(:sequence_id, 1) then horizon.record_id || record_ids[2:] else record_ids end as record_ids,
  marks,
  array[
    last_sequence_id,
    case when exists (select from annals.project where id = :project_id and placement in ('here', 'sealed'))
      then coalesce((select number from annals.redaction where project_id = :project_id order by number desc limit 1), 0)
      else -1 end,
    coalesce(horizon.sequence_id, 0)]
    || segment_starts as numbers,
  /* include core/record/columns */,
  r.message::text as message,
  r.metadata::text as metadata
from page
left join annals.feed_horizon as horizon on horizon.project_id = :project_id
cross join (select (null::annals.audit_record).*) as r
union all
select
  null,
  null,
  null,
  /* include core/record/columns */,
  case when octet_length(r.message) <= 2048 then r.message::text end,
  case when octet_length(r.message) > 2048 or pg_column_size(r.metadata) > 2048 then '' else r.metadata::text end
from annals.audit_record r
where r.project_id = :project_id
  and r.id = any ((select record_ids[least(:sequence_id, 1) + 1 :] from page)::uuid[])
