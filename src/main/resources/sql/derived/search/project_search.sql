-- Indexes the next 1,024 records of a feed, as soon as all exist; of removed ones, the rest. Its transaction holds the checkpoint.
--
-- :project_id   uuid
-- :sequence_id  bigint    the checkpoint, a multiple of 1,024
-- :bytes        integer   a record with a longer value counts as having every word
-- :words        integer   so does a record with a value of more words
-- :terms        integer   the most terms of a field in the dictionary
--
-- One row: sequence_id bigint, the end of the indexed block; :sequence_id if the block is not full yet. The block is the first that has
-- not been removed as a whole.
with start as materialized (
  select horizon, greatest(:sequence_id::bigint, horizon / 1024 * 1024) as sequence_id
  from annals.horizon(:project_id) as horizon
), record as materialized (
  select (place.sequence_id - start.sequence_id - 1)::integer as place, r."timestamp", r.id::text as id, r.action,
    r.actor_type, r.actor_id, r.actor_name, r.subject_type, r.subject_id, r.subject_name, r.outcome, host(r.ip_address) as ip_address,
    r.message, annals.recorder(r.recorded_by_token, r.recorded_by_role) as recorded_by, r.metadata,
    octet_length(r.metadata::text) <= :bytes as has_short_metadata
  from start
  cross join lateral annals.places(
    :project_id, greatest(start.sequence_id, start.horizon) + 1, start.sequence_id + 1024) as place
  -- lateral, so that a bad estimate of the planner cannot make it read all records of the project
  cross join lateral (
    select * from annals.audit_record where project_id = :project_id and id = place.record_id
    offset 0) as r
), value as materialized (
  -- Most values are those of several records, and divided into words once. Field 0 has words alone.
  select field, value, min(place) as first, max(place) as last, bit_or(1::bigint << place / 16) as slices
  from (
    select record.place, value.field, value.value
    from record
    cross join lateral (
      values (9, record.id), (1, record.action), (2, record.actor_id), (2, record.actor_name), (12, record.actor_type),
        (3, record.subject_id), (3, record.subject_name), (13, record.subject_type), (4, record.outcome), (5, record.ip_address),
        (0, record.message), (8, record.recorded_by),
        (0, case when not record.has_short_metadata then record.metadata::text end)) as value (field, value)
    where value.value is not null
    union all
    select record.place, case when part.is_name then 14 else 0 end,
      case when part.is_name then member.name else annals.metadata_text(member.value) end
    from record
    cross join lateral jsonb_each(record.metadata) as member (name, value)
    cross join (values (true), (false)) as part (is_name)
    where part.is_name or record.has_short_metadata) as value
  group by 1, 2
), divided as materialized (
  select field, first, last, slices,
    case
      when octet_length(value) > :bytes then null
      -- most texts; functions with subqueries are not inlined
      when octet_length(text) = length(text) then annals.words(text)
      else annals.indexed_words(text) || annals.beside_dense(text)
    end as words
  from (
    select *, case when field = 14 then annals.metadata_text(to_jsonb(value)) else value end as text from value where field <> 9 offset 0)
    as value
), word as materialized (
  select word, annals.is_id(word) as is_id, first, last, slices
  from (
    select word, min(first) as first, max(last) as last, bit_or(slices) as slices
    from divided
    cross join lateral unnest(case when cardinality(divided.words) <= :words then divided.words end) as word
    group by word
    offset 0) as word
), key as materialized (
  select annals.search_key(:project_id, field, value) as key, min(first) as first, max(last) as last, bit_or(slices) as slices
  from (
    select field, value, first, last, slices from value where field > 0
    union all
    select 6, word, first, last, slices from word
    union all
    select 10, left(word, 2), first, last, slices from word where is_id
    union all
    select 10, left(word, 4), first, last, slices from word where is_id and length(word) > 4
    union all
    select 11, network, first, last, slices from value cross join lateral unnest(annals.networks(value.value::inet)) as network
    where field = 5
    union all
    select 7, '', first, last, slices from divided where words is null or cardinality(words) > :words) as key
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
), term as materialized (
  select term.field, term.term, term.now, known.seen
  from (
    select value.field, value.term, (written.block / 64)::integer as now
    from written
    cross join lateral (
      select 6 as field, word as term from word where not is_id and not annals.has_dense(word)
      union all
      select field, annals.term(field, value) from value where field in (1, 4, 12, 13, 14) and value > '') as value
    offset 0) as term
  left join annals.term as known on known.project_id = :project_id and known.field = term.field and known.term = term.term
), growing as materialized (
  -- the fields with new terms, and whether there is room for them
  select field, count(term) = count(*) and count(*) + (
    select count(*) from (
      select from annals.term as known where known.project_id = :project_id and known.field = fresh.field limit :terms) as one) <= :terms
    as has_room
  from term as fresh
  where seen is null and not exists (
    select from annals.term as known where known.project_id = :project_id and known.field = fresh.field and known.term = '')
  group by field
), noted as (
  insert into annals.term (project_id, seen, field, term)
  select :project_id, now, field, term from term where seen < now
  union all
  select :project_id, now, field, term from term where seen is null and field in (select field from growing where has_room)
  union all
  select :project_id, 2147483647, field, '' from growing where not has_room
  on conflict (project_id, field, term) do update set seen = excluded.seen
)
select coalesce((select (block + 1) * 1024 from written), :sequence_id) as sequence_id
