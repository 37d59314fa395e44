-- What home has last noted of its members.
--
-- Rows: name text; id uuid; head bigint and mark integer, null if nothing was noted; noted_at timestamptz.
select d.name, d.id, e.head, e.mark, e.noted_at
from annals.database as d left join annals.database_end as e on e.id = d.id
