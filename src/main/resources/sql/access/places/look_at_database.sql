-- Reads how far a database has come, and what it has noted of its home.
--
-- :heads  bigint[]   what others have noted of it
-- :marks  integer[]
--
-- One row: id uuid; incarnation text and admitted boolean, null on a hot standby; head bigint; mark integer; log_size bigint; log_root
-- text, in hexadecimal; continues boolean, whether it has all that was noted; home_incarnation text, home_head
-- bigint, home_mark integer and noted_at timestamptz,
-- null if nothing was noted of home.
select s.id, s.incarnation, s.admitted, s.head, s.mark, s.log_size, encode(s.log_root, 'hex') as log_root,
  (select coalesce(bool_and(annals.has_place(s.id, n.head, n.mark)), true) from unnest(:heads::bigint[], :marks::integer[]) as n (head, mark))
    as continues,
  e.incarnation as home_incarnation, e.head as home_head, e.mark as home_mark, e.noted_at
from annals.database_state() as s
left join annals.database_end as e on annals.is_member()
