-- Most values of a block of the search index are in one record alone. Their places stand in the block, so that a page looks at
-- that record, and not at all sixteen of a slice.
alter table annals.search_block
  -- For each key, in their order: its only place in the block, 0 to 1023; or below 0 where it has more: the number of its slices in
  -- masks, negated. Null in blocks that the release before wrote, whose slices say it all.
  add column places smallint[],
  -- As in slices, of the keys that have more than one place, in their order.
  add column masks bigint[],
  -- Not the rows that are there: they have none.
  add constraint search_block_places check (cardinality(places) = cardinality(keys) and masks is not null or places is null) not valid;
-- A page reads them for each block: decompressing costs more than they would save.
alter table annals.search_block alter column places set storage external, alter column masks set storage external;

-- As before (V4), but of an append it unfolds no more than the range has of it: most ranges of a search are one place.
create or replace function annals.places(project_id uuid, first bigint, last bigint)
returns table (sequence_id bigint, record_id uuid, mark integer)
language sql stable parallel safe
as $$
  select place.sequence_id, place.record_id, place.mark
  from (
    -- the segment that holds the first place
    select coalesce(max(first_sequence_id), 1) as first_sequence_id
    from annals.feed_segment where feed_segment.project_id = $1 and first_sequence_id <= $2) as holding
  cross join lateral (
    select part.first_sequence_id + place.position - 1 as sequence_id, place.record_id, part.mark
    from (
      select append_id, mark, first_sequence_id = last_sequence_id as is_single, greatest(first_sequence_id, $2) as first_sequence_id,
        (greatest(first_sequence_id, $2) - first_sequence_id + 1)::integer as lowest,
        (least(last_sequence_id, $3) - first_sequence_id + 1)::integer as highest
      from annals.feed_segment
      where feed_segment.project_id = $1 and first_sequence_id between holding.first_sequence_id and $3
        and last_sequence_id >= $2
      offset 0) as part
    cross join lateral unnest(case
      -- an append of one record is named by it
      when part.is_single then array[part.append_id]
      else (
        select record_ids[part.lowest:part.highest] from annals.append where append.project_id = $1 and append.id = part.append_id)
      end) with ordinality as place (record_id, position)
    offset 0) as place
$$;
