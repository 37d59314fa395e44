-- Streams of a project, with their progress in all feeds that they follow.
--
-- :project_id  uuid
-- :name        text     null for all
-- :most        integer  the most rows
--
-- Rows ordered by name: the columns of annals.stream, with its project as owner_id, and of annals.stream_progress over all its feeds:
-- project_id and cursor of the owner's feed, the earliest retry_at, the least archived_through, the newest of the other times and errors, the highest epoch, rewinds,
-- failures and refusals, the sums of delivered and dead_letters; leased boolean, whether an instance delivers any of them now; lag
-- bigint, the number of records after the cursors.
select s.id, s.project_id as owner_id, s.name, s.all_projects, s.archive, s.sink_type, s.url, s.only_public, s.link_id, s.link_issued_by,
  s.secret, s.format, s.filter::text as filter, s.on_refusal, s.max_refusals, s.created_at, s.paused_at, s.pause_reason, s.stopped_at, s.stop_reason, s.project_id, total.*
from annals.stream as s
cross join lateral (
  select max(p.cursor) filter (where p.project_id = s.project_id) as cursor,
    max(p.rewinds) as rewinds, min(p.archived_through) as archived_through, max(p.epoch) as epoch, max(p.failures) as failures, max(p.refusals) as refusals,
    min(p.retry_at) filter (where p.retry_at > '-infinity' and p.failures > 0) as retry_at,
    (array_agg(p.last_error order by p.failed_at desc nulls last))[1] as last_error,
    max(p.failed_at) as failed_at, max(p.delivered_at) as delivered_at,
    sum(p.delivered)::bigint as delivered, sum(p.dead_letters)::bigint as dead_letters,
    coalesce(bool_or(p.leased_until > clock_timestamp()), false) as leased,
    sum(greatest(annals.followed_head(p) - split_part(p.cursor, '-', 1)::bigint, 0))::bigint as lag
  from annals.stream_progress as p
  where p.stream_id = s.id) as total
where annals.require_readable(:project_id) and s.project_id = :project_id and (:name::text is null or s.name = :name)
order by s.name
limit :most
