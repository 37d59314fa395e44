-- Claims of members to projects of this database that nothing proves yet: they count if the member has the last place of the copy here.
--
-- :own     text  the name of this database
-- :claims  text  a JSON array: see annals.counter_claims()
--
-- Rows: database text; project_id uuid; head bigint, the last place.
select distinct c.database, c.project_id, e.head
from annals.counter_claims(:own, (:claims::text)::jsonb) as c
cross join lateral annals.feed_end(c.project_id) as e
where not c.proven and e.head > 0
