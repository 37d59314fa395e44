-- Makes a stream, or says anew what it is, and appends the event that says so.
--
-- :project_id    uuid
-- :id            uuid     that of the stream that is there, or a new one
-- :name          text
-- :sink_type     text
-- :url           text
-- :secret        bytea    encrypted; may be null
-- :format        text
-- :filter        text     JSON
-- :on_refusal    text
-- :max_refusals  integer
-- :all_projects  boolean
-- :cursor        text     where a new one begins
-- :most          integer  how many streams the project may have
-- :actor_token   uuid
-- :address       text     of the caller
select annals.set_stream(:project_id, :id, :name, :sink_type, :url, :secret, :format, (:filter::text)::jsonb, :on_refusal,
  :max_refusals, :all_projects, :cursor, :most, :actor_token, (:address::text)::inet)
