-- The roots of consecutive tiles.
--
-- :project_id  uuid
-- :level       integer
-- :first       bigint
-- :last        bigint
--
-- Rows in order: root bytea.
select root from annals.merkle_tile
where project_id = :project_id and level = :level and tile between :first and :last
order by tile
