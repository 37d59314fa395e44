-- Notes that tokens are used in this hour.
--
-- :ids  uuid[]
select annals.note_token_use(:ids)
