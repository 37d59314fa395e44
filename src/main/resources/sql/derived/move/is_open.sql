-- Whether a move has opened the project in its target.
--
-- :project_id  uuid
-- :epoch       bigint
--
-- One row: open boolean.
select exists (
  select from annals.project where id = :project_id and placement = 'here' and placement_epoch >= :epoch) as open
