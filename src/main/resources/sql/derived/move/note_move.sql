-- Notes the progress of a move, or its last error, in home.
--
-- :id      uuid
-- :copied  bigint  up to this sequence id; null: unchanged
-- :error   text    null: none since
select annals.note_move(:id, :copied::bigint, :error::text)
