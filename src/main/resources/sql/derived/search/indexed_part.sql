-- Included by searches for blocks: the extent of a feed and of its index, and the first block to search.
--
-- :project_id  uuid
-- :direction   integer       1: in the feed's order, -1: in reverse
-- :from        bigint        the first sequence id; null: the head
feed as materialized (
  select
    coalesce(
      (select last_sequence_id from annals.feed_segment
       where project_id = :project_id order by first_sequence_id desc limit 1), 0) as head,
    -- the index of another version has other keys, and is not used
    coalesce(
      (select sequence_id from annals.projection_checkpoint
       where project_id = :project_id and projection = 'search' and mark = annals.search_mark()), 0) as through
), part as materialized (
  select feed.*,
    (least(
      coalesce(:from::bigint, head),
      case when :direction::integer > 0 then 9223372036854775807 else through end) - 1) / 1024 as first_block
  from feed
)
