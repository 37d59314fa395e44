-- The projects that are not in home, if they have changed.
--
-- :known  bigint  the version that the caller has; null for none
--
-- Rows, none if the version is still the same: version bigint; project_id uuid and database text, both null if all are in home. Each
-- member's project annals is among them, unless a project of home has its id.
with elsewhere as materialized (
  select id, moved_to as database, placement, placement_epoch from annals.project where placement in ('gone', 'arriving')
  union all
  select id, name, 'here', 0 from annals.database where id not in (select id from annals.project)
), version as (
  select coalesce(bit_xor(hashtextextended(database || ' ' || placement, uuid_hash_extended(id, placement_epoch))), 0) as version
  from elsewhere
)
select version.version, elsewhere.id as project_id, elsewhere.database
from version left join elsewhere on true
where version.version is distinct from :known
