-- Appends an event to the administration's feed about an operation that changes no project and no token.
--
-- :action        text   see R__45_administration.sql
-- :subject_type  text
-- :subject_id    text
-- :outcome       text
-- :details       text   a JSON object
-- :actor_token   uuid   null for the configured admin token, or the service itself
-- :address       text   of the caller; null for the service itself
select annals.record_operation(
  :action, :subject_type, :subject_id, :outcome, (:details::text)::jsonb, :actor_token, (:address::text)::inet)
