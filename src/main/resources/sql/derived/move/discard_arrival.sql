-- Removes places that have arrived.
--
-- :project_id  uuid
-- :epoch       bigint
-- :most        integer
--
-- One row: removed bigint, 0 at the end.
select annals.discard_arrival(:project_id, :epoch, :most) as removed
