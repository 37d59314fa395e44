-- Notes how far another database has come.
--
-- :id           uuid
-- :incarnation  text
-- :head         bigint
-- :mark         integer
-- :log_size     bigint
-- :log_root     text     in hexadecimal
select annals.note_end(:id, :incarnation, :head, :mark, :log_size, decode(:log_root::text, 'hex'))
