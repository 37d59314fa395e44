-- Creates a stream or replaces its definition, and appends the event.
--
-- :project_id    uuid
-- :id            uuid     of the existing stream, or a new one
-- :name          text
-- :sink_type     text
-- :url           text
-- :secret        bytea    encrypted; may be null
-- :format        text
-- :filter        text     JSON
-- :on_refusal    text
-- :max_refusals  integer
-- :all_projects  boolean
-- :archive       boolean
-- :cursor        text     the first cursor of a new stream
-- :most          integer  the most streams of the project
-- :actor_token   uuid
-- :address       text     of the caller
select annals.set_stream(:project_id, :id, :name, :sink_type, :url, :secret, :format, (:filter::text)::jsonb, :on_refusal,
  :max_refusals, :all_projects, :archive, :cursor, :most, :actor_token, (:address::text)::inet)
