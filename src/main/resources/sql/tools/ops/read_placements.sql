-- What this database says about projects.
--
-- :id  uuid  the only project to read; null for all
--
-- Rows: id uuid; name text; placement text; epoch bigint; moving boolean; moved_to text; head bigint; mark integer, of the last place;
-- log_size bigint; log_root text, in hexadecimal; project text, the row as JSON.
select p.id, p.name, p.placement, p.placement_epoch as epoch, p.is_moving as moving, p.moved_to, e.head,
  coalesce((select s.mark from annals.feed_segment as s where s.project_id = p.id order by s.first_sequence_id desc limit 1), 0) as mark,
  e.log_size, encode(e.log_root, 'hex') as log_root, to_jsonb(p)::text as project
from annals.project as p cross join lateral annals.feed_end(p.id) as e
where p.name <> 'annals' and p.id not in (select d.id from annals.database as d) and (p.id = :id or :id::uuid is null) order by p.id
