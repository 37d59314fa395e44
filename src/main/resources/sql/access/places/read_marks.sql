-- The marks of places of feeds, null for a place that a feed has not.
--
-- :projects  uuid[]
-- :heads     bigint[]  a place of each
--
-- One row: marks integer[], in their order.
select array_agg(annals.mark_at(n.project_id, n.head) order by n.number) as marks
from unnest(:projects::uuid[], :heads::bigint[]) with ordinality as n (project_id, head, number)
