-- Records that a range was verified.
--
-- :project_id   uuid
-- :sequence_id  bigint   the end of the range
-- :first        boolean  true for the first range of a round
-- :findings     integer
-- :seconds      integer  until the next one is due
update annals.verification
set sequence_id = :sequence_id, found = case when :first::boolean then 0 else found end + :findings::integer,
  found_before = case when :first::boolean then found else found_before end,
  round_at = case when :first::boolean then clock_timestamp() else round_at end,
  due_at = clock_timestamp() + make_interval(secs => :seconds::integer)
where project_id = :project_id
