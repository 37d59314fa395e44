-- Ends a session that still holds a feed's lock while others wait for it, and writes an event; see R__47_feed_lock_watchdog.sql.
--
-- :pid          integer           its server process
-- :transaction  text              the transaction that holds the lock
-- :seconds      double precision  it has held the lock for at least this long
--
-- One row: ended boolean.
select annals.end_feed_lock_holder(:pid, (:transaction::text)::xid, make_interval(secs => :seconds)) as ended
