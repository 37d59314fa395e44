-- A page of a feed, oldest first, without filters.
--
-- $1 project_id   uuid
-- $2 sequence_id  bigint    the page begins behind it; 0 is the start of the feed
-- $3 limit        integer   how many records at most
--
-- The first row names the places of the page: record_ids uuid[] in their order, without a gap up to last_sequence_id.
-- Where $2 is not 0, its own place comes first, so that the caller can check its cursor. Both columns are empty where
-- there is none. Then one row per record, in any order: those two columns null, and the columns of the record.
--
-- A message or metadata of more than 2 KiB, as they are stored, is left out, so that a page of any records is small here:
-- is_cut says so, and read_whole_records.sql brings as many of them as the page may have bytes. The size of a stored value
-- is known without reading it.
--
-- Sequence ids have no gap, so those of a page are known beforehand, and with them the range of its segments.
--
-- The records are fetched as id = any (array): PostgreSQL 17 and newer walk the index once for all of them, and a
-- join over the places descends it once a record.
with segment as materialized (
  select append_id, first_sequence_id, last_sequence_id
  from annals.feed_segment
  where project_id = $1
    -- from the segment that holds $2
    and first_sequence_id >= coalesce(
      (select max(first_sequence_id) from annals.feed_segment where project_id = $1 and first_sequence_id <= $2), 1)
    and first_sequence_id <= $2::bigint + $3::integer
  order by first_sequence_id
), page as materialized (
  select
    least(max(last_sequence_id), $2::bigint + $3::integer) as last_sequence_id,
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
              least(greatest($2 - first_sequence_id, 0), 256) + 1 :
              least($2::bigint + $3::integer - first_sequence_id, 256) + 1]
            from annals.append
            where project_id = $1 and id = append_id)
          end)
        from segment)
    end as record_ids
  from segment
)
select
  last_sequence_id,
  record_ids,
  null::uuid as id,
  null::timestamptz as "timestamp",
  null::timestamptz as recorded_at,
  null::varchar as action,
  null::varchar as actor_type,
  null::varchar as actor_id,
  null::varchar as actor_name,
  null::varchar as subject_type,
  null::varchar as subject_id,
  null::varchar as subject_name,
  null::varchar as outcome,
  null::text as ip_address,
  null::text as message,
  null::text as metadata,
  null::varchar as number_sequence,
  null::bigint as number_value,
  null::uuid as recorded_by_token,
  null::varchar as recorded_by_role,
  null::boolean as is_cut
from page
union all
select
  null,
  null,
  r.id,
  r."timestamp",
  r.recorded_at,
  r.action,
  r.actor_type,
  r.actor_id,
  r.actor_name,
  r.subject_type,
  r.subject_id,
  r.subject_name,
  r.outcome,
  host(r.ip_address),
  case when octet_length(r.message) <= 2048 then r.message end,
  case when pg_column_size(r.metadata) <= 2048 then r.metadata::text end,
  r.number_sequence,
  r.number_value,
  r.recorded_by_token,
  r.recorded_by_role,
  octet_length(r.message) > 2048 or pg_column_size(r.metadata) > 2048
from annals.audit_record r
where r.project_id = $1
  and r.id = any ((select record_ids[least($2, 1) + 1 :] from page)::uuid[])
