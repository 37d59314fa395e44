-- Reads the catalogue of a project, its actions in the order of their names.
--
-- :project_id  uuid
--
-- No row (no catalogue), or one for each action, or one without an action: version bigint, unknown_actions and ill_formed_metadata text; name
-- (null without an action), title, description, category and severity text, ocsf_class integer, metadata_schema text (a JSON object); null
-- for those that are not set.
select c.version, c.unknown_actions, c.ill_formed_metadata, a.name, a.title, a.description, a.category, a.severity, a.ocsf_class,
  a.metadata_schema::text as metadata_schema
from annals.catalogue as c
left join annals.catalogue_action as a on a.project_id = c.project_id
where c.project_id = :project_id
order by a.name collate "C"
