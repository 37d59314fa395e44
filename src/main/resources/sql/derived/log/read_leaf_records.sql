-- Reads ranges of some feeds without gaps, in any order. A removed record is represented by its entry in the log.
--
-- :project_id  uuid[]
-- :first       bigint[]  the first sequence id of each range
-- :last        bigint[]  the last one, in the same tile of 256; the feed may end before it
--
-- One row per sequence id: project_id uuid, sequence_id bigint, record_id uuid, entry bytea, and the columns of the record. A removed
-- record has only its entry; the entry is null if it is lost. A record that is missing for another reason has nulls in its columns.
with wanted as materialized (
  select wanted.project_id, wanted.first, wanted.last, coalesce(known.sequence_id, 0) as horizon, known.entries
  from unnest(:project_id::uuid[], :first::bigint[], :last::bigint[]) as wanted (project_id, first, last)
  left join lateral (
    select sequence_id, entries from annals.feed_horizon where project_id = wanted.project_id
    offset 0) as known on true
)
select
  wanted.project_id,
  place.sequence_id,
  place.record_id,
  null::bytea as entry,
  /* include core/record/columns */,
  r.message,
  r.metadata::text as metadata
from wanted
-- a subquery as an argument would keep the function from being inlined, and it would be planned each time
cross join lateral annals.places(wanted.project_id, greatest(wanted.first, wanted.horizon + 1), wanted.last) as place
-- lateral, so that a bad estimate of the planner cannot make it read all records of the project
left join lateral (
  select * from annals.audit_record where project_id = wanted.project_id and id = place.record_id
  offset 0) as r on true
union all
select
  wanted.project_id,
  place.sequence_id,
  null,
  nullif(
    substr(
      coalesce(
        (select hashes from annals.merkle_tile where project_id = wanted.project_id and level = 0 and tile = (wanted.first - 1) / 256),
        wanted.entries),
      ((place.sequence_id - 1) % 256 * 32)::integer + 1, 32), ''),
  /* include core/record/columns */,
  r.message,
  r.metadata::text
from wanted
cross join (select (null::annals.audit_record).*) as r
cross join lateral generate_series(wanted.first, least(wanted.last, wanted.horizon)) as place (sequence_id)
