-- Reads the roots of consecutive tiles, in order.
--
-- :project_id  uuid
-- :level       integer
-- :first       bigint
-- :last        bigint
--
-- Rows: root bytea.
select root from annals.merkle_tile
where project_id = :project_id and level = :level and tile between :first and :last
order by tile
