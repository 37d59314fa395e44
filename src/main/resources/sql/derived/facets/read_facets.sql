-- Reads the values of keys of count_facets.sql.
--
-- :project_id    uuid
-- :sequence_id   bigint[]   of each key, a record that has the value
-- :field         integer[]  of each: 0 to 5 for action, actor, subject, outcome, IP address and recorder, 6 to 9 for the paths
-- :key           bigint[]
-- :record_count  integer[]  the records that have it
-- :seed          bigint     of the keys
-- :first_path   text[]     in the metadata; null for none
-- :second_path  text[]
-- :third_path   text[]
-- :fourth_path  text[]
--
-- Rows by field, the most frequent value first, then by value: field integer, key bigint, record_count integer, value text, name text (the
-- name of a party with an id in that record). Values that have since been redacted or removed are missing.
select wanted.field, wanted.key, wanted.record_count, found.value, found.name
from unnest(:sequence_id::bigint[], :field::integer[], :key::bigint[], :record_count::integer[])
  as wanted (sequence_id, field, key, record_count)
cross join lateral annals.places(:project_id, wanted.sequence_id, wanted.sequence_id) as place
cross join lateral (
  select
    case wanted.field
      when 0 then r.action
      when 1 then coalesce(r.actor_id, r.actor_name)
      when 2 then coalesce(r.subject_id, r.subject_name)
      when 3 then r.outcome
      when 4 then host(r.ip_address)
      when 5 then annals.recorder(r.recorded_by_token, r.recorded_by_role)
      when 6 then r.metadata::jsonb #>> :first_path::text[]
      when 7 then r.metadata::jsonb #>> :second_path::text[]
      when 8 then r.metadata::jsonb #>> :third_path::text[]
      when 9 then r.metadata::jsonb #>> :fourth_path::text[]
    end as value,
    case
      when wanted.field = 1 and r.actor_id is not null then r.actor_name
      when wanted.field = 2 and r.subject_id is not null then r.subject_name
    end as name
  from annals.audit_record as r
  where r.project_id = :project_id and r.id = place.record_id
  offset 0) as found
where hashtextextended(found.value, :seed::bigint) = wanted.key
order by wanted.field, wanted.record_count desc, found.value collate "C"
