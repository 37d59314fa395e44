-- Decides a move, in home.
--
-- :id        uuid
-- :home      text
-- :head      bigint
-- :log_size  bigint
-- :log_root  text    in hexadecimal
--
-- One row: switched boolean.
select annals.switch_move(:id, :home, :head, :log_size, decode(:log_root::text, 'hex')) as switched
