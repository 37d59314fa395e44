-- Finds views of a project, by name.
--
-- :project_id  uuid
-- :name        text     null: all
-- :most        integer  the most views
--
-- Rows: id uuid, name text, filter text (JSON), last text, columns text (JSON), changed_at timestamptz.
select id, name, filter::text as filter, last, columns::text as columns, changed_at
from annals.saved_view
where annals.require_readable(:project_id) and project_id = :project_id and (:name::text is null or name = :name)
order by name
limit :most
