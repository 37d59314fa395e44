-- In home: notes the last sequence ids of feeds in members, for the streams of all projects.
--
-- :projects  uuid[]
-- :heads     bigint[]
update annals.stream_progress as p
set member_head = n.head
from unnest(:projects::uuid[], :heads::bigint[]) as n (project_id, head)
where p.project_id = n.project_id and p.member_head <> n.head
  and p.stream_id in (select id from annals.stream where all_projects)
