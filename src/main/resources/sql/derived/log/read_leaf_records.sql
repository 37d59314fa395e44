-- The records of ranges of some feeds, nothing left out, in any order; and of those that are gone, their entries in the log.
--
-- :project_id  uuid[]
-- :first       bigint[]  a sequence id of each project
-- :last        bigint[]  another, of the same 256; there may be fewer
--
-- One row per place: project_id uuid, sequence_id bigint, record_id uuid, entry bytea, and the columns of the record. Of a record that has
-- expired, only the entry is not null, unless it is missing, too; of any other record that is not there, the columns of the record are
-- null.
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
-- with a subquery as its argument, the function would not be inlined, and be planned anew each time
cross join lateral annals.places(wanted.project_id, greatest(wanted.first, wanted.horizon + 1), wanted.last) as place
-- a lateral subquery, so that a bad estimate by the planner cannot make it read all records of the project
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
