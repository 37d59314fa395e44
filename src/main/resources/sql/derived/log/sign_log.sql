-- Stores the newest note of a log that this transaction has locked.
--
-- :project_id   uuid
-- :signed_size  bigint
-- :checkpoint   text
-- :incarnation  text
update annals.merkle_log
set signed_size = :signed_size, checkpoint = :checkpoint, incarnation = :incarnation
where project_id = :project_id
