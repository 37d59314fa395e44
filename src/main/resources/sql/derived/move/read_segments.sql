-- Reads the next places of a feed, wherever they begin.
--
-- :project_id  uuid
-- :after       bigint   those behind this one
-- :most        integer  they begin within so many sequence ids from the first one
--
-- One row, with nulls without a place: append_id uuid[], first_sequence_id bigint[], last_sequence_id bigint[], mark integer[];
-- horizon bigint, up to which records have expired.
select
  array_agg(append_id order by first_sequence_id) as append_id,
  array_agg(first_sequence_id order by first_sequence_id) as first_sequence_id,
  array_agg(last_sequence_id order by first_sequence_id) as last_sequence_id,
  array_agg(mark order by first_sequence_id) as mark,
  annals.horizon(:project_id) as horizon
from annals.feed_segment
where project_id = :project_id and first_sequence_id > :after
  and first_sequence_id < :most::integer + (
    select min(first_sequence_id) from annals.feed_segment where project_id = :project_id and first_sequence_id > :after)
