-- pgbench's own transaction (TPC-B), with room for an audit record before its commit.
\set aid random(1, 100000 * :scale)
\set bid random(1, :scale)
\set tid random(1, 10 * :scale)
\set delta random(-5000, 5000)
\set project random(1, :projects)
begin;
update public.pgbench_accounts set abalance = abalance + :delta where aid = :aid;
select abalance from public.pgbench_accounts where aid = :aid;
update public.pgbench_tellers set tbalance = tbalance + :delta where tid = :tid;
update public.pgbench_branches set bbalance = bbalance + :delta where bid = :bid;
insert into public.pgbench_history (tid, bid, aid, delta, mtime) values (:tid, :bid, :aid, :delta, current_timestamp);
-- record
end;
