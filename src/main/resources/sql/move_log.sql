-- Moves the tree of a log that this transaction has taken.
--
-- :project_id  uuid
-- :size        bigint
-- :frontier    bytea
update annals.merkle_log set size = :size, frontier = :frontier where project_id = :project_id
