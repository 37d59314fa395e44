-- Places the records of a restored archive, and seals it.
--
-- :project_id         uuid
-- :first_sequence_id  bigint
-- :last_sequence_id   bigint
-- :checkpoint         text     the signed note of the original log
-- :left_hashes        bytea    the compact range of the log before the records
-- :right_hashes       bytea    the compact range after the records
-- :frontier           bytea    the compact range up to the last record
-- :files              text     a JSON array
select annals.finish_restored_archive(:project_id, :first_sequence_id, :last_sequence_id, :checkpoint, :left_hashes,
  :right_hashes, :frontier, (:files::text)::jsonb)
