-- Findings in the feed of a project, or in a range of it, one sentence each. A check of a range reads only the range. Only a check of
-- the whole feed finds records without a place.
--
-- :project_id  uuid
-- :whole       boolean  true for the whole feed; then since is 0 and through is null
-- :since       bigint   the range begins after this sequence id
-- :through     bigint   its last append contains this sequence id; null for the end of the feed
-- :most        bigint   the largest number of sentences
with project as materialized (
  select :project_id::uuid as id
), head as materialized (
  select head, horizon, since, coalesce(:through::bigint, 9223372036854775807) as through,
    -- The segment with the first place.
    case when since > 0 then (
      select first_sequence_id from annals.feed_segment
      where project_id = (select id from project) and first_sequence_id <= since + 1
      order by first_sequence_id desc limit 1) end as beginning
  from (
    -- The aggregate lets PostgreSQL use the index.
    select coalesce((
        select last_sequence_id from annals.feed_segment where project_id = (select id from project)
        order by first_sequence_id desc limit 1), 0) as head,
      -- Copied from annals.horizon(), because PostgreSQL would run the function in one process.
      coalesce((select sequence_id from annals.feed_horizon where project_id = (select id from project)), 0) as horizon) as ends
  cross join lateral (select case when :since::bigint > horizon then :since::bigint else 0 end as since) as stretch
), checkpoint as materialized (
  select checkpoint.projection, checkpoint.sequence_id, head.head, head.horizon,
    checkpoint.generation <> projection.generation as outdated,
    checkpoint.mark is distinct from annals.projection_mark(checkpoint.projection) as made_otherwise
  from annals.projection_checkpoint as checkpoint
  join annals.projection on projection.name = checkpoint.projection
  cross join head
  where checkpoint.project_id = (select id from project)
), log as materialized (
  select size, signed_size, head.head, head.horizon
  from annals.merkle_log cross join head
  where project_id = (select id from project)
), sampled_block as materialized (
  -- Reads each once, not once per value.
  select block, keys || '{}'::integer[] as keys, places || '{}'::smallint[] as places, masks || '{}'::bigint[] as masks
  from annals.search_block
  where project_id = (select id from project) and block = any (array(
    select sampled.block
    from checkpoint
    cross join lateral (
      select search_block.block from annals.search_block
      where search_block.project_id = (select id from project)
        and search_block.block between greatest(checkpoint.horizon, (select since from head)) / 1024
          and least(checkpoint.sequence_id, (select through from head)) / 1024 - 1
      order by random()
      limit case when :whole::boolean then 16 else 2 end) as sampled
    where projection = 'search' and not outdated and not made_otherwise))
), indexed_value as (
  select record.id as record_id, record.sequence_id, value.field, exists (
    select from (values
      (value.key),
      -- a long value has this key for all its words
      (case when value.is_word then annals.search_key((select id from project), 7, '') end)) as wanted (key)
    cross join lateral (select width_bucket(wanted.key, keys) as at) as found
    where at > 0 and keys[at] = wanted.key
      and case when places[at] >= 0 then places[at] = position else masks[-places[at]] >> position / 16 & 1 = 1 end) as is_found
  from sampled_block
  cross join lateral annals.places(
    (select id from project), greatest(block * 1024, (select horizon from head)) + 1, (block + 1) * 1024) as place
  cross join lateral (
    select *, place.sequence_id, (place.sequence_id - 1 - block * 1024)::integer as position from annals.audit_record
    where project_id = (select id from project) and id = place.record_id
    offset 0) as record
  cross join lateral (
    select plain.field, annals.search_key(record.project_id, plain.number, plain.value) as key, false as is_word
    from (values
      ('id', 9, record.id::text),
      ('action', 1, record.action),
      ('actor', 2, record.actor_id),
      ('actor', 2, record.actor_name),
      ('subject', 3, record.subject_id),
      ('subject', 3, record.subject_name),
      ('outcome', 4, record.outcome),
      ('ip_address', 5, host(record.ip_address)),
      ('recorded_by', 8, annals.recorder(record.recorded_by_token, record.recorded_by_role))) as plain (field, number, value)
    where plain.value is not null
    union all
    select text.field, annals.search_key(record.project_id, 6, word), true
    from (values ('message', record.message), ('metadata', annals.metadata_text(record.metadata)),
      ('actor''s name', record.actor_name), ('subject''s name', record.subject_name)) as text (field, value)
    cross join lateral unnest(annals.indexed_words(text.value)) as word) as value
), place as (
  select segment.append_id, append.shared_append_id, place.record_id, segment.first_sequence_id + place.nth - 1 as sequence_id
  from annals.feed_segment as segment
  left join annals.append on append.project_id = segment.project_id and append.id = segment.append_id
  cross join lateral unnest(coalesce(append.record_ids, array[segment.append_id])) with ordinality as place (record_id, nth)
  where segment.project_id = (select id from project)
    and segment.first_sequence_id between (select coalesce(beginning, 0) from head) and (select through from head)
    and segment.last_sequence_id > (select greatest(horizon, since) from head)
), record_at_place as materialized (
  -- Joins records and places; matching pairs need no memory. Counting both finds a record with several places.
  select record.id, record.placed_with, record.recorded_at, record.number_sequence, record.number_value,
    place.append_id, place.shared_append_id, place.record_id, place.sequence_id
  from (
    select id, placed_with, recorded_at, number_sequence, number_value
    from annals.audit_record
    where project_id = (select id from project) and (:whole::boolean or id = any (array(select record_id from place)))) as record
  full join place on place.record_id = record.id
  where record.number_value is not null or place.record_id is null or record.id is null
    or record.placed_with <> place.append_id and record.placed_with is distinct from place.shared_append_id
)

-- Segments have to be consecutive: 1 to n, n + 1 to m … Where records have expired, the first is the last place of those.
select case
    when first_sequence_id > previous + 1 then format(
      'sequence ids %s to %s belong to no segment', previous + 1, first_sequence_id - 1)
    when last_sequence_id < first_sequence_id then format(
      'the segment of append %s begins at %s and ends at %s', append_id, first_sequence_id, last_sequence_id)
    else format(
      'sequence ids %s to %s belong to append %s and to the one before it',
      first_sequence_id, least(previous, last_sequence_id), append_id)
  end as finding
from (
  select append_id, first_sequence_id, last_sequence_id,
    coalesce(max(last_sequence_id) over (
      order by first_sequence_id rows between unbounded preceding and 1 preceding),
      case when (select since from head) = 0 then (select greatest(horizon - 1, 0) from head)
        else least((select since from head), first_sequence_id - 1) end) as previous
  from annals.feed_segment
  where project_id = (select id from project)
    and first_sequence_id between (select coalesce(beginning, 0) from head) and (select through from head)) as segment
where first_sequence_id <> previous + 1 or last_sequence_id < first_sequence_id

union all

select format('%s records have expired, and the place of the last of them is not there', horizon)
from head
where horizon > 0 and not exists (
  select from annals.feed_segment
  where project_id = (select id from project) and first_sequence_id = horizon and last_sequence_id = horizon)

union all

-- A segment holds as many places as its append has records.
select case
    when append.id is null and record.id is null then format(
      'the segment at %s belongs to append %s, which is not there', first_sequence_id, append_id)
    else format(
      'the segment at %s has %s places, and its append %s has %s records',
      first_sequence_id, last_sequence_id - first_sequence_id + 1, append_id,
      coalesce(cardinality(append.record_ids), 1))
  end
from (
  select * from annals.feed_segment
  where project_id = (select id from project)
    and first_sequence_id between (select coalesce(beginning, 0) from head) and (select through from head)
    and last_sequence_id > (select greatest(horizon, since) from head)) as segment
left join annals.append on append.project_id = segment.project_id and append.id = segment.append_id
left join lateral (
  select id from annals.audit_record
  where project_id = segment.project_id and id = segment.append_id and placed_with = segment.append_id
    and append.id is null) as record on true
where last_sequence_id - first_sequence_id + 1
  is distinct from coalesce(cardinality(append.record_ids), case when record.id is not null then 1 end)

union all

-- Each append has a place.
select format('append %s of %s records is in no segment', id, cardinality(record_ids))
from annals.append
where :whole::boolean and project_id = (select id from project) and not exists (
  select from annals.feed_segment
  where feed_segment.project_id = append.project_id and feed_segment.append_id = append.id)

union all

-- The trigger that gathers a statement's records names their append after the first one.
select format('the records of append %s stand in another order than they came in', id)
from annals.append
where project_id = (select id from project) and shared_append_id is not null and record_ids[1] <> id
  and (:whole::boolean or id = any (array(select append_id from place)))

union all

-- Each place belongs to a record, and each record has a place, which it knows.
select case
    when record_id is null then format('record %s, recorded at %s, has no place and is never read', id, recorded_at)
    when id is null then format('append %s lists record %s, which is not there', append_id, record_id)
    else format('record %s does not name append %s, which has its place', id, append_id)
  end
from record_at_place
where record_id is null or id is null or placed_with <> append_id and placed_with is distinct from shared_append_id

union all

-- Values of a sequence are drawn under a lock until the commit, so they increase along the feed.
select format('record %s has the number %s of sequence %s, and stands behind the number %s', id, number_value,
  number_sequence, previous)
from (
  select id, number_sequence, number_value,
    lag(number_value) over (partition by number_sequence order by sequence_id) as previous
  from record_at_place where number_value is not null and sequence_id is not null) as numbered
where number_value <= previous

union all

-- A value of a record is never drawn again.
select format('sequence %s goes on at %s, and record %s has the number %s', sequence.name, sequence.next_value, newest.id, number_value)
from (
  select distinct on (number_sequence) number_sequence, number_value, id
  from record_at_place where number_value is not null
  order by number_sequence, number_value desc) as newest
join annals.sequence on sequence.project_id = (select id from project) and sequence.name = number_sequence
where number_value >= sequence.next_value

union all

select format('record %s has the number %s of sequence %s, which is not there', id, number_value, number_sequence)
from record_at_place
where number_value is not null
  -- A restored archive has only its records.
  and not exists (select from annals.restored_archive where project_id = (select id from project))
  and not exists (
  select from annals.sequence
  where sequence.project_id = (select id from project) and sequence.name = number_sequence and sequence.kind = 'SYNCHRONOUS')

union all

-- Derived tables follow the feed and are complete.
select format('the projection %s has processed %s records, and the feed has %s', projection, sequence_id, head)
from checkpoint
where sequence_id > head

union all

select format('the search index lacks the block of the records %s to %s', block * 1024 + 1, block * 1024 + 1024)
from checkpoint
cross join lateral generate_series(
  greatest(horizon, (select since from head)) / 1024,
  least(checkpoint.sequence_id, (select through from head)) / 1024 - 1) as block
where projection = 'search' and not outdated and not exists (
  select from annals.search_block
  where search_block.project_id = (select id from project) and search_block.block = block.block)

union all

select format('the search index has a block of the records %s to %s, and has indexed %s records', block * 1024 + 1,
  block * 1024 + 1024, sequence_id)
from checkpoint
join annals.search_block on search_block.project_id = (select id from project) and block >= sequence_id / 1024
where projection = 'search' and not outdated

union all

-- A full read finds it. The service rebuilds such an index when it notices it.
select 'the search index was made in another way than by this server: no search uses it, and the service makes it anew'
from checkpoint
where projection = 'search' and made_otherwise and not outdated and sequence_id > 0 and :whole::boolean

union all

-- A search would miss these records. Checking every block would take as long as rebuilding the index.
select format('the search index does not find record %s at sequence id %s by its %s', record_id, sequence_id,
  string_agg(distinct field, ', '))
from indexed_value
where not is_found
group by record_id, sequence_id

union all

select format('the search index has a block of the records %s to %s, which have expired', block * 1024 + 1, block * 1024 + 1024)
from head
join annals.search_block on search_block.project_id = (select id from project) and (block + 1) * 1024 <= horizon

union all

select format('the statistics count %s records by day, and have taken in %s that have not expired', counted,
  greatest(sequence_id - horizon, 0))
from checkpoint
cross join lateral (
  select coalesce(sum(record_count), 0) as counted
  from annals.daily_total where daily_total.project_id = (select id from project)) as total
where projection = 'statistics' and not outdated and counted <> greatest(sequence_id - horizon, 0)

union all

select format('the statistics count %s records on %s, and %s by %s', total.record_count, day, coalesce(counted, 0),
  case when by_actor then 'action, actor and outcome' else 'action and outcome' end)
from annals.daily_total as total
cross join (values (false), (true)) as kind (by_actor)
left join (
  select by_actor, day, sum(record_count) as counted
  from annals.daily_count where project_id = (select id from project) group by by_actor, day) as by_combination
  using (by_actor, day)
where total.project_id = (select id from project) and total.record_count is distinct from counted

union all

select format('the log has %s records, and the feed has %s', size, head)
from log
where size > head

union all

select format('the log has signed %s records, and its tree has %s', signed_size, size)
from log
where signed_size > size

union all

select format('the log has %s records, and its projection has processed %s', size, sequence_id)
from log
join checkpoint on projection = 'log' and not outdated
where size <> sequence_id

union all

select format('the log lacks the hashes of the records %s to %s', tile * 256 + 1, tile * 256 + 256)
from log
cross join lateral generate_series((select since from head) / 256, least(size, (select through from head)) / 256 - 1) as tile
where not exists (select from annals.restored_archive where project_id = (select id from project)) and not exists (
  select from annals.merkle_tile
  where merkle_tile.project_id = (select id from project) and level = 0 and merkle_tile.tile = tile.tile)

union all

select format('the log lacks the seed of the records %s to %s, which cannot be proved any more', tile * 256 + 1,
  least(tile * 256 + 256, size))
from log
cross join lateral generate_series(
  greatest(horizon, (select since from head)) / 256, (least(size, (select through from head)) + 255) / 256 - 1) as tile
where not exists (
  select from annals.merkle_seed
  where merkle_seed.project_id = (select id from project) and merkle_seed.tile = tile.tile)

union all

-- Without the seed, expired values cannot be guessed from their hashes.
select format('the log has the seed of the records %s to %s, of which some have expired', tile * 256 + 1, tile * 256 + 256)
from head
join annals.merkle_seed on merkle_seed.project_id = (select id from project) and tile * 256 < horizon
where case
  when (tile + 1) * 256 <= horizon or octet_length(seed) = 32 then true
  else ltrim(substr(seed, 1, (horizon % 256 * 32)::integer), '\x00') <> '' end

union all

-- Each record can be served. The schema's limits ensure that, but they may have been turned off.
select format('record %s cannot be served because of its %s', id, fields)
from annals.audit_record
cross join lateral (
  select nullif(concat_ws(', ',
    case when "timestamp" < '0001-01-01 00:00:00+00' or "timestamp" >= '10000-01-01 00:00:00+00' then 'timestamp' end,
    case when recorded_at < '0001-01-01 00:00:00+00' or recorded_at >= '10000-01-01 00:00:00+00' then 'recorded_at' end,
    case when action = '' then 'action' end,
    case when outcome = '' then 'outcome' end,
    case when octet_length(message) > 65535 then 'message' end,
    -- Size and text suffice for most metadata, as for the domain.
    case
      when pg_column_compression(metadata) is null
        and pg_column_size(metadata) < 265
        and jsonb_typeof(metadata) = 'object'
        and octet_length(metadata::text) <= 308
      then null
      when not annals.is_servable_metadata(metadata) then 'metadata'
    end,
    case when (number_sequence is null) <> (number_value is null) then 'number' end,
    case when (recorded_by_token is null) = (recorded_by_role is null) then 'recorded_by' end), '') as fields) as unfit
where project_id = (select id from project) and fields is not null
  and (:whole::boolean or id = any (array(select record_id from place)))

union all

-- A redacted value is null, and its digest is stored unless the record has expired.
select format('record %s was to lose its %s in redaction %s, and has not', redaction.record_id, field, redaction.number)
from (select * from annals.redaction where project_id = (select id from project)) as redaction
cross join lateral unnest(redaction.fields) as field
join annals.audit_record as record on record.project_id = redaction.project_id and record.id = redaction.record_id
where (:whole::boolean or record.id = any (array(select record_id from place)))
  and (jsonb_exists(record.redaction -> 'redacted', field) is not true
  or jsonb_build_object(
    'actor.type', record.actor_type, 'actor.id', record.actor_id, 'actor.name', record.actor_name,
    'subject.type', record.subject_type, 'subject.id', record.subject_id, 'subject.name', record.subject_name,
    'outcome', record.outcome, 'ip_address', record.ip_address, 'message', record.message, 'metadata', record.metadata)
    ->> field is not null)

union all

-- A later record of the feed names each redacted value, and expires after it. Restored archives may end before that record.
select format('record %s lacks its %s, and no annals.redact record of the feed says so', record.id, field)
from annals.audit_record as record
cross join lateral jsonb_object_keys(
  case when jsonb_typeof(record.redaction -> 'redacted') = 'object' then record.redaction -> 'redacted' end) as field
where record.project_id = (select id from project) and record.redaction is not null
  and (:whole::boolean or record.id = any (array(select record_id from place)))
  and not exists (select from annals.restored_archive where project_id = (select id from project))
  and not exists (
    select from annals.redaction
    join annals.audit_record as event on event.project_id = redaction.project_id and event.id = redaction.event_id
    where redaction.project_id = record.project_id and redaction.record_id = record.id and field = any (redaction.fields)
      and event.action = 'annals.redact' and event.subject_type = 'record' and event.subject_id = record.id::text
      and event.metadata::jsonb = jsonb_build_object('fields', to_jsonb(redaction.fields),
        'sequence_id', annals.sequence_id(record.project_id, record.id, record.placed_with))
      and annals.sequence_id(event.project_id, event.id, event.placed_with)
        > annals.sequence_id(record.project_id, record.id, record.placed_with)
      and (field = 'message' or not starts_with(record.action, 'annals.')))

union all

select format('record %s says that something was redacted, and nothing was', event.id)
from annals.audit_record as event
where event.project_id = (select id from project) and event.action = 'annals.redact'
  and (:whole::boolean or event.id = any (array(select record_id from place)))
  and not exists (select from annals.restored_archive where project_id = (select id from project))
  and not exists (
    select from annals.redaction
    where redaction.project_id = event.project_id and redaction.event_id = event.id
      and redaction.record_id::text = event.subject_id)
limit :most
