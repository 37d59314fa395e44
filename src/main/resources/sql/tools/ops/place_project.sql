-- Places a project here.
--
-- :project_id  uuid
-- :placement   text     as it was read, like :epoch
-- :epoch       bigint
-- :new_epoch   bigint
-- :halts       boolean  whether its log signs no more
select annals.place_project(:project_id, :placement, :epoch, :new_epoch, :halts)
