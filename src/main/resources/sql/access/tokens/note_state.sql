-- Records a state, with an event in the administration's feed, if it differs from the last one.
--
-- :kind   text   settings or log_keys
-- :state  text   a JSON object
select annals.note_state(:kind, (:state::text)::jsonb)
