-- Counts the places of a range that have their record.
--
-- :project_id  uuid
-- :first       bigint
-- :last        bigint
--
-- One row: records bigint.
select count(*) as records
from annals.places(:project_id, :first, :last) as p
join annals.audit_record as r on r.project_id = :project_id and r.id = p.record_id
