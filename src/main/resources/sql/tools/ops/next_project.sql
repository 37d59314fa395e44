-- Finds the next project that has a row anywhere, in the order of ids; null after the last.
--
-- :after  uuid   the project before it
select least(
  (select id from annals.project where id > after.id order by id limit 1),
  (select project_id from annals.audit_record where project_id > after.id order by project_id limit 1),
  (select project_id from annals.append where project_id > after.id order by project_id limit 1),
  (select project_id from annals.feed_segment where project_id > after.id order by project_id limit 1)) as id
from (select :after::uuid as id) as after
