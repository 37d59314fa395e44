-- Indexes the next 1,024 records of a feed, once they are there. Its transaction holds the checkpoint.
--
-- $1 project_id   uuid
-- $2 sequence_id  bigint    the checkpoint, a multiple of 1,024
-- $3 bytes        integer   a longer message counts as having any word
-- $4 words        integer   and so does one with more of them
--
-- One row: sequence_id bigint, $2 + 1024, or $2 where there are fewer records.
with record as materialized (
  select place.sequence_id, r."timestamp", r.action, r.actor_id, r.actor_name, r.subject_id, r.subject_name, r.outcome,
    host(r.ip_address) as ip_address,
    coalesce('token:' || r.recorded_by_token, 'role:' || r.recorded_by_role) as recorded_by,
    case when octet_length(r.message) <= $3 then annals.words(r.message) end as words,
    coalesce(octet_length(r.message) > $3, false) as any_word
  from annals.places($1, $2::bigint + 1, $2 + 1024) as place
  -- a lateral subquery, so that a bad guess of the planner's cannot read all records of the project instead
  cross join lateral (
    select * from annals.audit_record where project_id = $1 and id = place.record_id
    offset 0) as r
), key as materialized (
  select annals.search_stretch($2 / 1024) | annals.search_key($1, value.field, value.value) as key,
    bit_or(1::bigint << ((record.sequence_id - $2 - 1) / 16)::integer) as slices
  from record
  cross join lateral (
    select 1, record.action
    union all select 2, record.actor_id
    union all select 2, record.actor_name
    union all select 3, record.subject_id
    union all select 3, record.subject_name
    union all select 4, record.outcome
    union all select 5, record.ip_address
    union all select 6, word from unnest(record.words) as word where cardinality(record.words) <= $4
    union all select 8, record.recorded_by
    union all select 7, '' where record.any_word or cardinality(record.words) > $4) as value (field, value)
  where value.value is not null
  group by 1
), written as (
  insert into annals.search_block (project_id, block, first_timestamp, last_timestamp, keys, slices)
  select $1, $2 / 1024,
    (select min("timestamp") from record), (select max("timestamp") from record),
    array_agg(key order by key), array_agg(slices order by key)
  from key
  having (select count(*) from record) = 1024
  returning block
)
select coalesce((select (block + 1) * 1024 from written), $2) as sequence_id
