-- Chooses how PostgreSQL plans the checks of a feed, until the transaction ends. Planning takes several times as long as checking a
-- small feed, so one plan serves all small feeds. It must not read whole tables.
--
-- :project_id  uuid
-- :whole       boolean  true for a whole feed; a plan for a range depends on the range
-- :few         integer  the places of a small feed
select
  set_config('plan_cache_mode', case when feed.is_small then 'force_generic_plan' else 'force_custom_plan' end, true),
  set_config('enable_seqscan', case when feed.is_small then 'off' else 'on' end, true)
from (
  select :whole::boolean and coalesce((
      select last_sequence_id from annals.feed_segment
      where project_id = :project_id order by first_sequence_id desc limit 1), 0) <= :few::integer as is_small
) as feed
