-- Whether a feed has a place.
--
-- :project_id   uuid
-- :sequence_id  bigint
-- :mark         integer
--
-- One row: known boolean.
select annals.has_place(:project_id, :sequence_id, :mark) as known
