-- Finds blocks in a part of a feed that may hold records for which filters ask, in the feed's order or in reverse.
--
-- :blocks        integer       the most blocks
-- :stretches     integer       the most stretches of 1,048,576 places
-- :start         timestamptz   null: any
-- :end           timestamptz   exclusive; null: any
-- :alternatives  integer[]     the alternative of each key, at least one; a record passes if it has all keys of an alternative
-- :fields        integer[]     of each key, as annals.search_key() numbers them; a field 6 may have several words
-- :kinds         integer[]     of each key; 0: the value; 1: one that begins so; 2: one with this text within
-- :values        text[]        of each key
-- :most          integer       the most terms of a pattern that are looked up
-- and the binds of indexed_part.sql.
--
-- At least one row: head bigint (the last sequence id of the feed, or 0), through bigint (the last one that is indexed, or 0), anything
-- boolean (any block may hold a match: none is returned), and a block: block bigint (null: none), slices bigint (a bit per 16 places that
-- may hold a match, from the lowest place on), places integer[] (single places in the block that may hold one, from 0 on; null: none).
with /* include derived/search/indexed_part */, asked as materialized (
  select *
  from unnest(:alternatives::integer[], :fields::integer[], :kinds::integer[], :values::text[]) as asked (alternative, field, kind, value)
), required as materialized (
  select asked.alternative,
    coalesce(array_agg(distinct annals.search_key(:project_id, asked.field, one.value)) filter (where one.value is not null), '{}') as keys
  from asked
  left join lateral unnest(case
    when asked.kind > 0 then '{}'
    when asked.field = 6 then annals.indexed_words(asked.value)
    when asked.field = 11 then (annals.networks(asked.value::inet))[cardinality(annals.networks(asked.value::inet)):]
    else array[asked.value] end) as one (value) on true
  group by asked.alternative
), pattern as materialized (
  -- of each alternative the one with the fewest terms; the records decide about the others
  select distinct on (asked.alternative) asked.alternative, found.keys
  from asked
  cross join lateral (
    select annals.pattern_keys(:project_id, asked.field, asked.kind = 2, asked.value, :most::integer) as keys offset 0) as found
  where asked.kind > 0 and found.keys is not null
  order by asked.alternative, cardinality(found.keys)
), wanted as materialized (
  select case when one.key is null then required.keys else required.keys || one.key end as keys
  from required
  left join pattern on pattern.alternative = required.alternative
  cross join lateral (
    select null::integer as key where pattern.keys is null
    union all
    select unnest(pattern.keys)) as one
), together as materialized (
  select coalesce(bool_or(keys = '{}'), false) as anything from wanted
)
select part.head, part.through, together.anything, found.block, found.slices, found.places
from part
cross join together
left join lateral (
  select candidate.block, candidate.slices, candidate.places
  from generate_series(0, least(
      :stretches::integer - 1,
      abs((case when :direction::integer > 0 then (part.through - 1) / 1024 else 0 end >> 10)
        - (part.first_block >> 10)))) as step
  cross join lateral (
    select (part.first_block >> 10) + step * :direction::integer as number) as stretch
  cross join lateral (
    select one.block, bit_or(one.slices) as slices, array_agg(one.place) filter (where one.place is not null) as places
    from wanted
    cross join lateral (
      select read.block, held.slices, held.place
      from (
        -- read once rather than once per key; a single key may need no masks
        select found.block, found.keys || '{}'::integer[] as keys,
          case when cardinality(wanted.keys) > 1 then found.places || '{}'::smallint[] else found.places end as places,
          case when cardinality(wanted.keys) > 1 then found.masks || '{}'::bigint[] else found.masks end as masks
        from (
          select b.*
          from (
            select project_id, block, first_timestamp, last_timestamp, keys, places, masks
            from annals.search_block
            where annals.search_entries(block, keys)
              @> array(select annals.search_entry(stretch.number, key) from unnest(wanted.keys) as key)
            offset 0) as b
          where b.project_id = :project_id
            and b.block >> 10 = stretch.number
            and b.block * :direction::integer >= part.first_block * :direction::integer
            and (:start::timestamptz is null or b.last_timestamp >= :start::timestamptz)
            and (:end::timestamptz is null or b.first_timestamp < :end::timestamptz)
          order by b.block * :direction::integer
          limit :blocks::integer) as found
        offset 0) as read
      cross join lateral (
        -- the slices that have all keys, or the place if a key has only one
        select
          case when count(looked_up.place) = 0 then bit_and(looked_up.slices) else 0 end as slices,
          case when min(looked_up.place) = max(looked_up.place) and bit_and(looked_up.slices) <> 0 then min(looked_up.place) end as place
        from (
          select nullif(greatest(number.number, -1), -1) as place,
            case
              when at.place = 0 or read.keys[at.place] <> key then 0
              when number.number < 0 then read.masks[-number.number]
              else 1::bigint << number.number / 16
            end as slices
          from unnest(wanted.keys) as key
          cross join lateral (select width_bucket(key, read.keys)) as at (place)
          cross join lateral (select read.places[at.place]::integer) as number (number)
          offset 0) as looked_up) as held
      -- keeps keys, places and masks out of the sort
      offset 0) as one
    group by one.block
    order by one.block * :direction::integer
    limit :blocks::integer) as candidate
  where part.first_block * 1024 < part.through and not together.anything
  limit :blocks::integer) as found on true
