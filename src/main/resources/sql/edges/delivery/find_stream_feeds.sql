-- The progress of a stream in each feed that it follows.
--
-- :project_id  uuid     the owner of the stream
-- :name        text
-- :feed        uuid     only this project's feed; null for all
-- :after       uuid     only projects after this one; null for all
-- :most        integer  the most rows
--
-- Rows ordered by project id: the columns of annals.stream, with its project as owner_id, and of annals.stream_progress; leased boolean,
-- whether an instance delivers it now; lag bigint, the number of records after the cursor.
select s.id, s.project_id as owner_id, s.name, s.all_projects, s.archive, s.sink_type, s.url, s.only_public, s.link_id, s.link_issued_by,
  s.secret, s.format, s.filter::text as filter, s.on_refusal, s.max_refusals, s.created_at, s.paused_at, s.pause_reason, s.stopped_at, s.stop_reason,
  p.project_id, p.cursor, p.rewinds, p.archived_through, p.epoch, p.failures, p.refusals, nullif(p.retry_at, '-infinity') as retry_at, p.last_error,
  p.failed_at, p.delivered_at, p.delivered, p.dead_letters,
  coalesce(p.leased_until > clock_timestamp(), false) as leased,
  greatest(annals.followed_head(p) - split_part(p.cursor, '-', 1)::bigint, 0) as lag
from annals.stream as s
join annals.stream_progress as p on p.stream_id = s.id
where annals.require_readable(:project_id) and s.project_id = :project_id and s.name = :name
  and (:feed::uuid is null or p.project_id = :feed)
  and (:after::uuid is null or p.project_id > :after)
order by p.project_id
limit :most
