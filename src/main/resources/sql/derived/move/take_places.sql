-- Takes the next places of a feed, with the appends and records that were copied into the tables of stage_arrival.sql.
--
-- :project_id  uuid
-- :epoch       bigint
-- :append_id   uuid[]
-- :first       bigint[]
-- :last        bigint[]
-- :mark        integer[]
select annals.take_places(:project_id, :epoch, :append_id, :first, :last, :mark)
