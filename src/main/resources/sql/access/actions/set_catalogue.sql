-- Sets policies and actions of a catalogue, and appends their events.
--
-- :project_id           uuid
-- :unknown_actions      text     null: unchanged
-- :ill_formed_metadata  text     null: unchanged
-- :actions              text     a JSON array of objects with the columns of annals.catalogue_action
-- :whole                boolean  deletes other actions
-- :most                 integer  the most actions of a project
-- :most_bytes           integer  the most bytes of their schemas together
-- :actor_token          uuid     null for the configured admin token
-- :address              text     of the caller
select annals.set_catalogue(:project_id, :unknown_actions, :ill_formed_metadata, (:actions::text)::jsonb, :whole, :most, :most_bytes,
  :actor_token, (:address::text)::inet)
