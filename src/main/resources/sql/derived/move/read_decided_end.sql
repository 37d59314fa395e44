-- The end of the feed and of its log by which a move was decided, in home.
--
-- :id  uuid
--
-- One row: head bigint, log_size bigint, log_root text, in hexadecimal; digests text, a JSON object.
select head, log_size, encode(log_root, 'hex') as log_root, digests::text as digests from annals.move where id = :id
