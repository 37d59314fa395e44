-- Counts the places of a range that have their record.
--
-- :project_id  uuid
-- :first       bigint
-- :last        bigint
--
-- One row: records bigint.
select count(*) as records
from annals.places(:project_id, :first, :last) as p
cross join lateral (
  select from annals.audit_record where project_id = :project_id and id = p.record_id
  offset 0) as r
