-- The blocks in a part of a feed that may have what filters ask for, in the feed's order or against it.
--
-- :project_id   uuid
-- :direction    integer       1: in the feed's order, -1: against it
-- :from         bigint        the sequence id to begin at; null: at the head
-- :blocks       integer       how many at most
-- :stretches    integer       of how many stretches of 1,048,576 places at most
-- :start        timestamptz   this and the following may be null: any; one of :action to :subject_id is not
-- :end          timestamptz   exclusive
-- :action       text
-- :actor        text          id or name
-- :subject      text          id or name
-- :outcome      text
-- :ip_address   text
-- :q            text          words
-- :recorded_by  text          token: or identity: and its id, or role: and its name
-- :actor_id     text          of the actor, and no name; besides :actor
-- :subject_id   text          of the subject, and no name; besides :subject
--
-- At least one row: head bigint (the feed's last sequence id, or 0), through bigint (up to there blocks are indexed, or
-- 0), then a block: block bigint (null: there is none), slices bigint (a bit for every 16 places, from the lowest on,
-- that can hold it; 0: none of them can).
with feed as materialized (
  select
    coalesce(
      (select last_sequence_id from annals.feed_segment
       where project_id = :project_id order by first_sequence_id desc limit 1), 0) as head,
    coalesce((select sequence_id from annals.projection_checkpoint where project_id = :project_id and projection = 'search'), 0)
      as through
), part as materialized (
  select feed.*,
    (least(
      coalesce(:from::bigint, head),
      case when :direction::integer > 0 then 9223372036854775807 else through end) - 1) / 1024 as first_block
  from feed
), wanted as materialized (
  select
    array(
      select distinct annals.search_key(:project_id, field, value)
      from unnest(
        array[1, 2, 3, 4, 5, 8, 2, 3],
        array[:action::text, :actor::text, :subject::text, :outcome::text, :ip_address::text, :recorded_by::text,
          :actor_id::text, :subject_id::text])
        as v (field, value)
      where value is not null) as fields,
    array(select distinct annals.search_key(:project_id, 6, word) from unnest(annals.words(:q::text)) as word) as words,
    annals.search_key(:project_id, 7, '') as any_word
)
select part.head, part.through, found.block, found.slices
from part
cross join wanted
left join lateral (
  select candidate.block,
    -- the slices that have all of it
    (select bit_and(case when candidate.keys[at.place] = key then candidate.slices[at.place] else 0 end)
      from unnest(wanted.fields || wanted.words) as k (k)
      cross join lateral (select candidate.stretch | k) as s (key)
      cross join lateral (select width_bucket(s.key, candidate.keys)) as at (place))
    | case when :q::text is null then 0 else
      (select bit_and(case when candidate.keys[at.place] = key then candidate.slices[at.place] else 0 end)
        from unnest(wanted.fields || wanted.any_word) as k (k)
        cross join lateral (select candidate.stretch | k) as s (key)
        cross join lateral (select width_bucket(s.key, candidate.keys)) as at (place))
      end as slices
  from (
    select found.block, stretch.prefix as stretch,
      -- read once, not once per key
      found.keys || '{}'::bigint[] as keys, found.slices || '{}'::bigint[] as slices
    from generate_series(0, least(
        :stretches::integer - 1,
        abs((case when :direction::integer > 0 then (part.through - 1) / 1024 else 0 end >> 10)
          - (part.first_block >> 10)))) as step
    cross join lateral (
      select annals.search_stretch((part.first_block >> 10) + step * :direction::integer << 10) as prefix,
        (part.first_block >> 10) + step * :direction::integer as number) as stretch
    cross join lateral (
      select b.*
      from (
        select project_id, block, first_timestamp, last_timestamp, keys, slices
        from annals.search_block
        where keys @> array(select stretch.prefix | k from unnest(wanted.fields || wanted.words) as k)
          -- without q there is nothing more to find: no block has the key -1
          or keys @> array(select stretch.prefix | k from unnest(
            case when :q::text is null then array[-1::bigint] else wanted.fields || wanted.any_word end) as k)
        offset 0) as b
      where b.project_id = :project_id
        and b.block >> 10 = stretch.number
        and b.block * :direction::integer >= part.first_block * :direction::integer
        and (:start::timestamptz is null or b.last_timestamp >= :start::timestamptz)
        and (:end::timestamptz is null or b.first_timestamp < :end::timestamptz)
      order by b.block * :direction::integer
      limit :blocks::integer) as found
    where part.first_block * 1024 < part.through
    limit :blocks::integer) as candidate) as found on true
