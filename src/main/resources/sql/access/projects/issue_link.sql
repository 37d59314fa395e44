-- Issues the token of a viewer link, and appends its event.
--
-- :project_id   uuid
-- :id           uuid
-- :token_hash   bytea
-- :filter       text      a JSON object
-- :seconds      integer   the time for which it is valid
-- :actor_token  uuid      the token that issues it
-- :address      text      of the caller
select annals.issue_link(
  :project_id, :id, :token_hash, (:filter::text)::jsonb, :seconds, :actor_token, (:address::text)::inet)
