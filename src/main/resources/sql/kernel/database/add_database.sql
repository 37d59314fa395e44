-- Notes a member in home, or in the member itself. Once it is noted, this reads only.
--
-- :id    uuid   the member's project annals
-- :name  text
select annals.add_database(:id, :name)
