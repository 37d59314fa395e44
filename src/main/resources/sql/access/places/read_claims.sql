-- Reads where a database says that projects are: home all of them, a member those that it has.
--
-- :own  text  the name of the database
--
-- One row: claims text and moves text, JSON arrays for annals.admit(); moves is empty in a member.
select
  (select coalesce(jsonb_agg(jsonb_build_object(
      'project_id', p.id, 'database', coalesce(annals.database_of(p), :own::text), 'epoch', p.placement_epoch,
      'decided', p.placement <> 'sealed' and not p.is_moving)), '[]')::text
    from annals.project as p
    where p.name <> 'annals' and p.id not in (select d.id from annals.database as d) and (p.placement in ('here', 'sealed') or not annals.is_member())) as claims,
  (select coalesce(jsonb_agg(to_jsonb(m)), '[]')::text
    from (
      select distinct on (project_id) project_id, target, epoch from annals.move
      where state in ('copying', 'switched', 'done')
      order by project_id, epoch desc) as m) as moves
