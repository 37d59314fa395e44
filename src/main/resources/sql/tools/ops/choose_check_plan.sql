-- Chooses how the statements that check a feed are planned, until the transaction ends. Where there are few places, planning takes
-- several times as long as checking, so one plan serves all such feeds. It has to suit each of them, so it may not read whole tables.
--
-- :project_id  uuid
-- :whole       boolean  whether it is the whole feed; the plan for a stretch has to know which
-- :few         integer  how many places are few
select
  set_config('plan_cache_mode', case when feed.is_small then 'force_generic_plan' else 'force_custom_plan' end, true),
  set_config('enable_seqscan', case when feed.is_small then 'off' else 'on' end, true)
from (
  select :whole::boolean and coalesce((
      select last_sequence_id from annals.feed_segment
      where project_id = :project_id order by first_sequence_id desc limit 1), 0) <= :few::integer as is_small
) as feed
