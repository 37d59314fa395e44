-- Reads large records one after the other, in the order of :id, until they have too many bytes. It does not read the others.
--
-- :project_id  uuid
-- :id          uuid[]   ids of records that exist
-- :bytes       bigint   ends with the record whose message and metadata, as JSON, exceed this many bytes in total
--
-- Rows in the order of :id: sequence_id bigint, always null; record_id uuid; and all columns of the record.
with recursive whole as (
  select 0 as place, 0::bigint as bytes, null::uuid as id, null::text as message, null::text as metadata
  union all
  select
    whole.place + 1,
    whole.bytes + coalesce(octet_length(to_json(r.message)::text), 0) + coalesce(octet_length(r.metadata), 0),
    r.id,
    r.message,
    r.metadata
  from whole
  cross join lateral (
    select id, message, metadata::text as metadata
    from annals.audit_record
    where project_id = :project_id and id = (:id::uuid[])[whole.place + 1]
    offset 0) as r
  where whole.place < cardinality(:id::uuid[]) and whole.bytes <= :bytes::bigint
)
select
  null::bigint as sequence_id,
  r.id as record_id,
  /* include core/record/columns */,
  whole.message,
  whole.metadata
from whole
cross join lateral (
  select * from annals.audit_record where project_id = :project_id and id = whole.id
  offset 0) as r
order by whole.place
