-- Deletes the tree of a log, so that it is built anew from the records. Seeds stay.
--
-- :project_id  uuid
with checkpoint as (
  update annals.projection_checkpoint set sequence_id = 0
  where project_id = :project_id and projection = 'log'
  returning project_id
), tile as (
  delete from annals.merkle_tile where project_id = (select project_id from checkpoint)
)
update annals.merkle_log set size = 0, frontier = '' where project_id = (select project_id from checkpoint)
