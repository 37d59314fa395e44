-- Reads where a database says that projects are: home all of them, a member those that it has.
--
-- :own  text  the name of the database
--
-- One row: claims text, a JSON array for annals.admit().
select coalesce(jsonb_agg(jsonb_build_object(
    'project_id', p.id, 'database', coalesce(annals.database_of(p), :own::text), 'epoch', p.placement_epoch,
    'decided', p.placement <> 'sealed' and not p.is_moving)), '[]')::text as claims
from annals.project as p
where p.name <> 'annals' and (p.placement in ('here', 'sealed') or not annals.is_member())
