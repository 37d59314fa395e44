-- Appends an event to the administration's feed if a state is different from what was noted last, and notes it.
--
-- :kind   text   settings or log_keys
-- :state  text   a JSON object
select annals.note_state(:kind, (:state::text)::jsonb)
