-- Finds alerts of a project, by name.
--
-- :project_id  uuid
-- :name        text     null: all
-- :most        integer  the most alerts
--
-- Rows: columns of annals.alert; closed boolean, whether the project is closed; lag bigint, the records still to count, 0 if the alert does
-- not count.
select a.id, a.name, a.q, a.threshold, a.interval_seconds, a.enabled, a.created_at, a.sequence_id, a.window_start, a.match_count,
  a.raised_window, a.raised_count, a.failures, a.last_error, a.failed_at, nullif(a.retry_at, '-infinity') as retry_at,
  p.closed_at is not null as closed,
  case when a.enabled and p.closed_at is null then greatest(coalesce(
    (select last_sequence_id from annals.feed_segment
     where project_id = a.project_id order by first_sequence_id desc limit 1), 0) - a.sequence_id, 0) else 0 end as lag
from annals.alert as a
join annals.project as p on p.id = a.project_id
where annals.require_readable(:project_id) and a.project_id = :project_id and (:name::text is null or a.name = :name)
order by a.name
limit :most
