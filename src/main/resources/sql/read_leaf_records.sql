-- The records of a range of a feed, nothing left out, in any order.
--
-- :project_id  uuid
-- :first       bigint   a sequence id
-- :last        bigint   another; there may be fewer
--
-- One row per place: sequence_id bigint, record_id uuid, and the columns of the record, all null if it is not there.
select
  place.sequence_id,
  place.record_id,
  r.id,
  r."timestamp",
  r.recorded_at,
  r.action,
  r.actor_type,
  r.actor_id,
  r.actor_name,
  r.subject_type,
  r.subject_id,
  r.subject_name,
  r.outcome,
  inet_send(r.ip_address) as ip_address,
  r.message,
  r.metadata::text as metadata,
  r.number_sequence,
  r.number_value,
  r.recorded_by_token,
  r.recorded_by_role
from annals.places(:project_id, :first::bigint, :last::bigint) as place
-- a lateral subquery, so that a bad estimate by the planner cannot make it read all records of the project
left join lateral (
  select * from annals.audit_record where project_id = :project_id and id = place.record_id
  offset 0) as r on true
