-- The projects that are not in home, if they have changed.
--
-- :known  bigint  the version that the caller has; null for none
--
-- Rows, none if the version is still the same: version bigint; project_id uuid and database text, both null if all are in home.
with version as materialized (
  select coalesce(bit_xor(hashtextextended(moved_to || ' ' || placement, uuid_hash_extended(id, placement_epoch))), 0) as version
  from annals.project where placement in ('gone', 'arriving')
)
select version.version, project.id as project_id, project.moved_to as database
from version left join annals.project on placement in ('gone', 'arriving')
where version.version is distinct from :known
