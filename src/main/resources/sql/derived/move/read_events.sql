-- Reads the schema's own records at some places.
--
-- :project_id  uuid
-- :first       bigint
-- :last        bigint
--
-- One row: records text, a JSON array.
select coalesce(jsonb_agg(to_jsonb(r)), '[]')::text as records
from annals.places(:project_id, :first, :last) as p
cross join lateral (
  select * from annals.audit_record where project_id = :project_id and id = p.record_id
  offset 0) as r
where annals.is_reserved(r.action::text)
