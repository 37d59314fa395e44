-- Stores the newest cosigned note of a log that this transaction has locked.
--
-- :project_id     uuid
-- :cosigned_size  bigint
-- :cosigned       text
update annals.merkle_log set cosigned = :cosigned, cosigned_size = :cosigned_size where project_id = :project_id
