-- Finds the records at known places, and the state of their feeds.
--
-- :project_id   uuid[]
-- :sequence_id  bigint[]  one place per feed; 0 is the start
--
-- One row per place, in any order:
--   project_id uuid, sequence_id bigint  as given
--   record_id uuid, mark integer         the record at the place and the mark of the place; null if the place is empty
--   head bigint                          the sequence id of the newest record; 0 if the feed is empty
--   redactions bigint                    the number of redactions in the project
--   horizon bigint                       the sequence id up to which records have expired
--   here boolean                         whether this database has the project
--   standby boolean                      whether the server is a standby
--   server_started timestamptz           differs on a promoted standby and on a restored server
--   database_oid bigint                  differs for a restored database
--
-- It costs six or seven index probes per feed.
select
  known.project_id,
  known.sequence_id,
  coalesce(
    (select feed_horizon.record_id
     from annals.feed_horizon
     where feed_horizon.project_id = known.project_id and feed_horizon.sequence_id = known.sequence_id),
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
  exists (select from annals.project where id = known.project_id and placement in ('here', 'sealed')) as here,
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
