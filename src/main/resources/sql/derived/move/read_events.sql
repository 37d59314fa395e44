-- Reads the schema's own records at some places.
--
-- :project_id  uuid
-- :first       bigint
-- :last        bigint
--
-- One row: records text, a JSON array.
select coalesce(jsonb_agg(to_jsonb(r)), '[]')::text as records
from annals.places(:project_id, :first, :last) as p
join annals.audit_record as r on r.project_id = :project_id and r.id = p.record_id and annals.is_reserved(r.action::text)
