-- Where this database says that projects are.
--
-- :id  uuid  the only project to read; null for all
--
-- Rows: id uuid; name text; here boolean; moved_to text, the other database, null for this one.
select id, name, placement in ('here', 'sealed') as here, annals.database_of(project) as moved_to
from annals.project where name <> 'annals' and (id = :id or :id::uuid is null) order by id
