-- What keeps a project from moving, in its source or its target.
--
-- :project_id  uuid
--
-- One row: restored boolean, it is a restored archive; copied boolean, a copy of it was left here.
select
  exists (select from annals.restored_archive where project_id = :project_id) as restored,
  exists (select from annals.project where id = :project_id and placement = 'gone')
    and exists (select from annals.feed_segment where project_id = :project_id) as copied
