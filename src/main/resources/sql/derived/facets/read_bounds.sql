-- Reads the first and last places of a feed.
--
-- :project_id  uuid
--
-- One row: head bigint, the last sequence id, or 0; horizon bigint, the last removed one, or 0.
select
  coalesce(
    (select last_sequence_id from annals.feed_segment
     where project_id = :project_id order by first_sequence_id desc limit 1), 0) as head,
  coalesce((select sequence_id from annals.feed_horizon where project_id = :project_id), 0) as horizon
where annals.require_readable(:project_id)
