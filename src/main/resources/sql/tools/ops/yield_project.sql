-- Leaves a project to another database.
--
-- :project_id  uuid
-- :placement   text     as it was read, like :epoch
-- :epoch       bigint
-- :new_epoch   bigint
-- :database    text
-- :suspends    boolean  whether this copy has records that the other database lacks
select annals.yield_project(:project_id, :placement, :epoch, :new_epoch, :database, :suspends)
