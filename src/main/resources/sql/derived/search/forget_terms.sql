-- Corrects the dictionary after values of a block were removed: deletes terms that no block has any more. Its transaction holds the
-- checkpoint.
--
-- :project_id  uuid
-- :block       bigint
with present as materialized (
  select key
  from annals.search_block
  cross join lateral unnest(keys) as key
  where project_id = :project_id and block between :block::bigint / 64 * 64 and :block::bigint / 64 * 64 + 63
), term as materialized (
  select field, term, annals.search_key(:project_id, field, split_part(term, E'\x01', case when field = 14 then -1 else 1 end)) as key
  from annals.term
  where project_id = :project_id and seen = :block::bigint / 64
), gone as materialized (
  select term.field, term.term, earlier.seen
  from (select key from term except select key from present) as missing
  join term on term.key = missing.key
  left join lateral (
    select found.seen
    from generate_series(:block::bigint >> 10, 0, -1) as stretch
    cross join lateral (
      select max(block / 64)::integer as seen
      from annals.search_block
      where annals.search_entries(block, keys) @> array[annals.search_entry(stretch, term.key)]
        and project_id = :project_id and block >> 10 = stretch and block < :block::bigint / 64 * 64) as found
    where found.seen is not null
    limit 1) as earlier on true
), moved as (
  update annals.term set seen = gone.seen
  from gone
  where term.project_id = :project_id and term.field = gone.field and term.term = gone.term and gone.seen is not null
)
delete from annals.term using gone
where term.project_id = :project_id and term.field = gone.field and term.term = gone.term and gone.seen is null
