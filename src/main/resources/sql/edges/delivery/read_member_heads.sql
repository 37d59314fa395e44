-- In a member: the last sequence ids of the next feeds by project id.
--
-- :after  uuid     the project before them; null: begin at the first
-- :most   integer  the most feeds
--
-- Rows in order: project_id uuid; head bigint, 0 if the feed is empty.
select p.id as project_id, coalesce(
    (select last_sequence_id from annals.feed_segment
     where project_id = p.id order by first_sequence_id desc limit 1), 0) as head
from annals.project as p
where p.placement = 'here' and p.id > coalesce(:after::uuid, '00000000-0000-0000-0000-000000000000')
order by p.id
limit :most
