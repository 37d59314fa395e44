-- Issues the token of a viewer link, and appends its event.
--
-- :project_id   uuid
-- :id           uuid
-- :token_hash   bytea
-- :scopes       text[]
-- :filter       text      a JSON object; null for a whole project
-- :seconds      integer   the time for which it is valid
-- :actor_token  uuid      the token that issues it
-- :address      text      of the caller
select annals.issue_link(
  :project_id, :id, :token_hash, :scopes, (:filter::text)::jsonb, :seconds, :actor_token, (:address::text)::inet)
