-- Indexes the next 1,024 records of a feed, as soon as all exist; of removed ones, the rest. Its transaction holds the checkpoint.
--
-- :project_id   uuid
-- :sequence_id  bigint    the checkpoint, a multiple of 1,024
-- :bytes        integer   a record with a longer value counts as having every word
-- :words        integer   so does a record with a value of more words
--
-- One row: sequence_id bigint, the end of the indexed block; :sequence_id if the block is not full yet. The block is the first that has
-- not been removed as a whole.
with start as materialized (
  select horizon, greatest(:sequence_id::bigint, horizon / 1024 * 1024) as sequence_id
  from annals.horizon(:project_id) as horizon
), record as materialized (
  select (place.sequence_id - start.sequence_id - 1)::integer as place, r."timestamp", r.id::text as id, r.action,
    r.actor_type, r.actor_id, r.actor_name, r.subject_type, r.subject_id, r.subject_name, r.outcome, host(r.ip_address) as ip_address,
    r.message, annals.recorder(r.recorded_by_token, r.recorded_by_role) as recorded_by, annals.metadata_text(r.metadata) as metadata
  from start
  cross join lateral annals.places(
    :project_id, greatest(start.sequence_id, start.horizon) + 1, start.sequence_id + 1024) as place
  -- lateral, so that a bad estimate of the planner cannot make it read all records of the project
  cross join lateral (
    select * from annals.audit_record where project_id = :project_id and id = place.record_id
    offset 0) as r
), value as materialized (
  -- Most values are those of several records, and divided into words once. Field 0 has words alone.
  select value.field, value.value, min(record.place) as first, max(record.place) as last,
    bit_or(1::bigint << record.place / 16) as slices
  from record
  cross join lateral (
    values (9, record.id), (1, record.action), (2, record.actor_id), (2, record.actor_name), (0, record.actor_type),
      (3, record.subject_id), (3, record.subject_name), (0, record.subject_type), (4, record.outcome), (5, record.ip_address),
      (0, record.message), (8, record.recorded_by), (0, record.metadata)) as value (field, value)
  where value.value is not null
  group by 1, 2
), key as materialized (
  select annals.search_key(:project_id, key.field, key.value) as key, min(first) as first, max(last) as last, bit_or(slices) as slices
  from (
    select field, value, first, last, slices from value where field > 0
    union all
    select word.field, word.value, value.first, value.last, value.slices
    from value
    cross join lateral (
      select case when octet_length(value.value) <= :bytes then annals.indexed_words(value.value) end as words offset 0) as divided
    cross join lateral (
      select 6 as field, word as value from unnest(divided.words) as word where cardinality(divided.words) <= :words
      union all
      select 7, '' where divided.words is null or cardinality(divided.words) > :words) as word
    where value.field <> 9) as key
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
