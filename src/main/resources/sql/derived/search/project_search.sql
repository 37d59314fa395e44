-- Indexes the next 1,024 records of a feed, as soon as all exist; of removed ones, the rest. Its transaction holds the checkpoint.
--
-- :project_id   uuid
-- :sequence_id  bigint    the checkpoint, a multiple of 1,024
-- :bytes        integer   a longer message counts as having every word
-- :words        integer   so does a message with more words
--
-- One row: sequence_id bigint, the end of the indexed block; :sequence_id if the block is not full yet. The block is the first that has
-- not been removed as a whole.
with start as materialized (
  select horizon, greatest(:sequence_id::bigint, horizon / 1024 * 1024) as sequence_id
  from annals.horizon(:project_id) as horizon
), record as materialized (
  select place.sequence_id, r."timestamp", r.action, r.actor_id, r.actor_name, r.subject_id, r.subject_name, r.outcome,
    host(r.ip_address) as ip_address,
    annals.recorder(r.recorded_by_token, r.recorded_by_role) as recorded_by,
    case when octet_length(r.message) <= :bytes then annals.words(r.message) end as words,
    coalesce(octet_length(r.message) > :bytes, false) as any_word
  from start
  cross join lateral annals.places(
    :project_id, greatest(start.sequence_id, start.horizon) + 1, start.sequence_id + 1024) as place
  -- lateral, so that a bad estimate of the planner cannot make it read all records of the project
  cross join lateral (
    select * from annals.audit_record where project_id = :project_id and id = place.record_id
    offset 0) as r
), key as materialized (
  select annals.search_key(:project_id, value.field, value.value) as key,
    min(record.place) as first, max(record.place) as last, bit_or(1::bigint << record.place / 16) as slices
  from (select *, (sequence_id - (select sequence_id from start) - 1)::integer as place from record) as record
  cross join lateral (
    select 1, record.action
    union all select 2, record.actor_id
    union all select 2, record.actor_name
    union all select 3, record.subject_id
    union all select 3, record.subject_name
    union all select 4, record.outcome
    union all select 5, record.ip_address
    union all select 6, word from unnest(record.words) as word where cardinality(record.words) <= :words
    union all select 8, record.recorded_by
    union all select 7, '' where record.any_word or cardinality(record.words) > :words) as value (field, value)
  where value.value is not null
  group by 1
), written as (
  insert into annals.search_block (project_id, block, first_timestamp, last_timestamp, keys, places, masks)
  select :project_id, (select sequence_id / 1024 from start),
    (select min("timestamp") from record), (select max("timestamp") from record),
    array_agg(key order by key),
    array_agg((case when first = last then first else -number end)::smallint order by key),
    coalesce(array_agg(slices order by key) filter (where first < last), '{}')
  from (select *, count(*) filter (where first < last) over (order by key) as number from key) as key
  having (select count(*) from record) = (select 1024 - greatest(horizon - sequence_id, 0) from start)
  returning block
)
select coalesce((select (block + 1) * 1024 from written), :sequence_id) as sequence_id
