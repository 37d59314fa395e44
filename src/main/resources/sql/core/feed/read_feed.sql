-- A page of a feed, oldest first, without filters.
--
-- :project_id   uuid
-- :sequence_id  bigint    the page begins behind it; 0 is the start of the feed
-- :limit        integer   how many records at most
--
-- The first row names the places of the page: record_ids uuid[] in their order, without a gap up to the last sequence id.
-- Where :sequence_id is not 0, its own place comes first, so that the caller can check its cursor. marks integer[] has the mark
-- of each segment. Both columns are empty where there is none. numbers bigint[] has the last sequence id of the page, or null;
-- how many redactions the project has seen; up to where its records have expired: the place there is left, and its record is not;
-- and the place at which each segment begins, unless each has one record. Then one row per record, in any order: those three columns null, and the columns of the record. They are so few because each record
-- is sent with them.
--
-- A message or metadata of more than 2 KiB, as they are stored, is left out, so that a page of any records is small here:
-- metadata is then '', which is no JSON, and read_large_records.sql brings as many of them as the page may have bytes. The
-- size of a stored value is known without reading it.
--
-- Sequence ids have no gap, so those of a page are known beforehand, and with them the range of its segments.
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
  record_ids,
  marks,
  array[
    last_sequence_id,
    coalesce((select number from annals.redaction where project_id = :project_id order by number desc limit 1), 0),
    coalesce((select sequence_id from annals.feed_horizon where project_id = :project_id), 0)]
    || segment_starts as numbers,
  /* include core/record/columns */,
  r.message::text as message,
  r.metadata::text as metadata
from page
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
