-- Counts the next records of a feed that match an alert's query. Its transaction has locked the alert.
--
-- :project_id         uuid
-- :sequence_id        bigint       the last record counted
-- :records            bigint       the most records to look at
-- :interval_seconds   integer
-- :threshold          bigint
-- :window_start       timestamptz  the current interval; null: none yet
-- :first_sequence_id  bigint       its first matching record; null: none yet
-- :match_count        bigint       the number of its matching records
-- :terms              text[]       the operands of the query's condition, in order
--
-- One row: sequence_id bigint, the last record looked at; window_start timestamptz, first_sequence_id bigint and match_count bigint after
-- it; raised boolean, whether this record is the first above the threshold. The count ends there, so that one step appends one event at
-- most.
--
-- A record counts in the interval of its recorded_at, or in a later one that an earlier record of the feed has begun. Intervals thus
-- follow one another in the order of the feed, whatever the steps are.
with start as materialized (
  -- removed records do not count
  select greatest(:sequence_id::bigint, annals.horizon(:project_id)) as sequence_id
), looked_at as materialized (
  select place.sequence_id, r.recorded_at, r.matches
  from start
  cross join lateral annals.places(:project_id, start.sequence_id + 1, start.sequence_id + :records::bigint) as place
  -- lateral, so that a bad estimate of the planner cannot make it read all records of the project
  cross join lateral (
    select r.recorded_at,
      -- the event of an alert raises no alert
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
