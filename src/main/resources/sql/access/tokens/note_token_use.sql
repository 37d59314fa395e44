-- Records the use of tokens in this hour.
--
-- :ids  uuid[]
select annals.note_token_use(:ids)
