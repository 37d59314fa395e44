-- Finds a project by its id or its name.
--
-- :id    uuid   null to find it by its name
-- :name  text
--
-- No row or one: id uuid, name text, database text (null for home), created_at timestamptz, closed_at timestamptz (null while it is open), retention_days
-- integer (null: never expire), limits text (a JSON object), archive_required boolean; and, if it is in home, as in describe_projects.sql:
-- oldest_sequence_id bigint, archived_through bigint, awaits_archive boolean.
select id, name, annals.database_of(project) as database, created_at, closed_at, retention_days, limits::text as limits,
  archive_required, annals.horizon(id) + 1 as oldest_sequence_id, annals.archived_through(id) as archived_through,
  annals.awaits_archive(id) as awaits_archive
from annals.project where id = :id
union all
select id, name, annals.database_of(project) as database, created_at, closed_at, retention_days, limits::text as limits,
  archive_required, annals.horizon(id) + 1 as oldest_sequence_id, annals.archived_through(id) as archived_through,
  annals.awaits_archive(id) as awaits_archive
from annals.project where name = :name and :id::uuid is null
