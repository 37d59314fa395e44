-- Opens the project in its target, if it has all that the move was decided by.
--
-- :project_id      uuid
-- :epoch           bigint
-- :digests         text     of read_decided_end.sql
-- :pauses_streams  boolean  because they may reach more from here
select annals.open_project(:project_id, :epoch, (:digests::text)::jsonb, :pauses_streams)
