-- Makes the project in the target, where it is written by its move alone, and by this mover.
--
-- :project_id  uuid
-- :name        text    of the project in home
-- :project     text    its row in the source, as JSON
-- :database    text    the source
-- :epoch       bigint
-- :mover       uuid
select annals.arrive_project(:project_id, :name, (:project::text)::jsonb, :database, :epoch, :mover)
