-- Claims the range that is due the longest. Another instance may claim it after this time.
--
-- :seconds  integer  this time
--
-- No row, or one: project_id uuid, sequence_id bigint (before the range), head bigint (the end of the feed), round_age bigint
-- (seconds since the round began).
update annals.verification
set due_at = clock_timestamp() + make_interval(secs => :seconds::integer)
where project_id = (
  select project_id from annals.verification
  join annals.project on project.id = project_id and placement = 'here'
  where due_at <= clock_timestamp() order by due_at limit 1
  for update of verification skip locked)
returning project_id, sequence_id, extract(epoch from clock_timestamp() - round_at)::bigint as round_age, coalesce((
  select last_sequence_id from annals.feed_segment
  where feed_segment.project_id = verification.project_id order by first_sequence_id desc limit 1), 0) as head
