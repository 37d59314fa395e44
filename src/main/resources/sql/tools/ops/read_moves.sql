-- Each project's last move, the last one that was decided, and the one that has not ended. In home.
--
-- Rows: project_id uuid; id uuid; source text; target text; epoch bigint; state text; head bigint, log_size bigint and log_root text, in
-- hexadecimal, null unless it was decided.
select m.project_id, m.id, m.source, m.target, m.epoch, m.state, m.head, m.log_size, encode(m.log_root, 'hex') as log_root
from annals.move as m
where m.ended_at is null or m.epoch = (select max(l.epoch) from annals.move as l where l.project_id = m.project_id) or m.epoch = (
  select max(d.epoch) from annals.move as d where d.project_id = m.project_id and d.switched_at is not null)
