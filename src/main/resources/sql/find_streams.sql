-- Streams of a project, with how far they have come.
--
-- :project_id  uuid
-- :name        text     null for all
-- :most        integer  how many at most
--
-- Rows in the order of their names: the columns of annals.stream and annals.stream_progress; leased boolean, whether an instance
-- delivers at this moment; head bigint, the sequence id of the feed's newest record, 0 if there is none.
select s.id, s.project_id, s.name, s.sink_type, s.url, s.secret, s.format, s.filter::text as filter, s.on_refusal,
  s.max_refusals, s.created_at, s.paused_at, s.stopped_at, s.stop_reason, s.rewinds,
  p.cursor, p.epoch, p.failures, p.refusals, nullif(p.retry_at, '-infinity') as retry_at, p.last_error, p.failed_at, p.delivered_at, p.delivered, p.dead_letters,
  coalesce(p.leased_until > clock_timestamp(), false) as leased,
  coalesce(
    (select last_sequence_id from annals.feed_segment
     where project_id = s.project_id order by first_sequence_id desc limit 1), 0) as head
from annals.stream as s
join annals.stream_progress as p on p.stream_id = s.id
where s.project_id = :project_id and (:name::text is null or s.name = :name)
order by s.name
limit :most
