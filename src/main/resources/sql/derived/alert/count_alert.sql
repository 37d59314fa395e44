-- Counts the next records of a feed that match an alert's query. Its transaction holds the alert.
--
-- :project_id         uuid
-- :sequence_id        bigint       up to here all are counted
-- :records            bigint       how many to look at, at most
-- :interval_seconds   integer
-- :threshold          bigint
-- :window_start       timestamptz  the interval that is being counted; null: none yet
-- :first_sequence_id  bigint       its first matching record; null: none yet
-- :match_count        bigint       how many it has
-- :terms              text[]       what the query compares with, of which its condition takes one after the other
--
-- One row: sequence_id bigint, the last record looked at; window_start timestamptz, first_sequence_id bigint and match_count bigint, as
-- they are behind it; raised boolean, whether this record is the first above the threshold. No more than that one is looked at, so that
-- there is one event at most.
--
-- A record counts in the interval of its recorded_at, or in a later one that a record before it has begun: what commits late counts
-- where the feed has come to. So intervals follow one another in the order of the feed, and from the feed alone, whatever the steps are.
with start as materialized (
  -- what has expired is not counted any more
  select greatest(:sequence_id::bigint, annals.horizon(:project_id)) as sequence_id
), looked_at as materialized (
  select place.sequence_id, r.recorded_at, r.matches
  from start
  cross join lateral annals.places(:project_id, start.sequence_id + 1, start.sequence_id + :records::bigint) as place
  -- a lateral subquery, so that a bad estimate by the planner cannot make it read all records of the project
  cross join lateral (
    select r.recorded_at,
      -- no alert sets off another, or itself
      r.action <> 'annals.alert.raise' and /* condition */ :terms::text[] is null as matches
    from annals.audit_record as r
    where r.project_id = :project_id and r.id = place.record_id
    offset 0) as r
), matched as (
  select sequence_id,
    greatest(
      :window_start::timestamptz,
      max(date_bin(make_interval(secs => :interval_seconds::integer), recorded_at, 'epoch')) over (order by sequence_id))
      as window_start
  from looked_at
  where matches
), counted as materialized (
  select sequence_id, window_start,
    row_number() over one + case when window_start = :window_start::timestamptz then :match_count::bigint else 0 end as match_count,
    coalesce(case when window_start = :window_start::timestamptz then :first_sequence_id::bigint end, first_value(sequence_id) over one)
      as first_sequence_id
  from matched
  window one as (partition by window_start order by sequence_id)
), raised as materialized (
  select min(sequence_id) as sequence_id from counted where match_count = :threshold::bigint + 1
), through as (
  select coalesce(raised.sequence_id, (select max(sequence_id) from looked_at), start.sequence_id) as sequence_id,
    raised.sequence_id is not null as raised
  from start cross join raised
)
select through.sequence_id, through.raised, coalesce(last.window_start, :window_start) as window_start,
  coalesce(last.first_sequence_id, :first_sequence_id) as first_sequence_id,
  coalesce(last.match_count, :match_count) as match_count
from through
left join lateral (
  select * from counted where counted.sequence_id <= through.sequence_id order by counted.sequence_id desc limit 1) as last on true
