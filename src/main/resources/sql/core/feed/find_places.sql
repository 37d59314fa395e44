-- Whether records that were read before still stand at their places, and where the feeds end.
--
-- :project_id   uuid[]
-- :sequence_id  bigint[]  one known place per feed; 0 is the start
--
-- Rows in any order: project_id uuid and sequence_id bigint as given; record_id uuid, what stands there, and mark integer, that
-- of its place, both null if nothing does; head bigint, the sequence id of the newest record, 0 if there is none; redactions
-- bigint, how many the project has seen; horizon bigint, up to where its records are gone; standby boolean, whether the server may be behind another one. And what tells one history from another:
-- server_started timestamptz, which a promoted standby or a restored server has of its own; database_oid bigint, which a
-- restored database has of its own.
--
-- Index probes alone: four or five per feed.
select
  known.project_id,
  known.sequence_id,
  coalesce(
    (select record_ids[known.sequence_id - holding.first_sequence_id + 1]
     from annals.append
     where append.project_id = known.project_id and append.id = holding.append_id),
    holding.append_id) as record_id,
  holding.mark,
  coalesce(
    (select last_sequence_id
     from annals.feed_segment
     where feed_segment.project_id = known.project_id
     order by first_sequence_id desc
     limit 1), 0) as head,
  coalesce(
    (select number from annals.redaction where redaction.project_id = known.project_id order by number desc limit 1), 0)
    as redactions,
  coalesce((select sequence_id from annals.feed_horizon where feed_horizon.project_id = known.project_id), 0) as horizon,
  pg_is_in_recovery() as standby,
  pg_postmaster_start_time() as server_started,
  (select oid::bigint from pg_database where datname = current_database()) as database_oid
from unnest(:project_id::uuid[], :sequence_id::bigint[]) as known (project_id, sequence_id)
left join lateral (
  select append_id, first_sequence_id, last_sequence_id, mark
  from annals.feed_segment
  where feed_segment.project_id = known.project_id and first_sequence_id <= known.sequence_id
  order by first_sequence_id desc
  limit 1) as holding on holding.last_sequence_id >= known.sequence_id
