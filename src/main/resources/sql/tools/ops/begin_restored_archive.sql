-- Begins to restore an archive into an empty database.
--
-- :project_id         uuid
-- :name               text    of the project
-- :first_sequence_id  bigint
-- :recorded_at        text    of the first record
select annals.begin_restored_archive(:project_id, :name, :first_sequence_id, (:recorded_at::text)::timestamptz)
