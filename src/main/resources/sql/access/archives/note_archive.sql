-- Records that a file contains the next records of a project, and appends its event.
--
-- :project_id         uuid
-- :id                 uuid     for the archive, unless it is recorded already
-- :first_sequence_id  bigint
-- :last_sequence_id   bigint
-- :file_name          text
-- :bytes              bigint
-- :digest             bytea
-- :actor_token        uuid     null for the configured admin token
-- :address            text     of the caller
--
-- One row: id uuid.
select annals.note_archive(:project_id, :id, :first_sequence_id, :last_sequence_id, :file_name, :bytes, :digest, :actor_token,
  (:address::text)::inet) as id
