-- The end of a feed and of its log.
--
-- :project_id  uuid
--
-- One row: head bigint, log_size bigint, log_root text, in hexadecimal.
select head, log_size, encode(log_root, 'hex') as log_root from annals.feed_end(:project_id)
