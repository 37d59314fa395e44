-- Makes or redefines a view, and appends the event.
--
-- :project_id   uuid
-- :id           uuid     of a new one
-- :name         text
-- :filter       text     JSON
-- :last         text     null without a range
-- :columns      text     JSON; null for the usual ones
-- :most         integer  the most views of the project
-- :actor_token  uuid
-- :address      text     of the caller
select annals.set_view(:project_id, :id, :name, (:filter::text)::jsonb, :last, (:columns::text)::jsonb, :most, :actor_token,
  (:address::text)::inet)
