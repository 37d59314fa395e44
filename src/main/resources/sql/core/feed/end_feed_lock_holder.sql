-- Ends a session that still holds a feed's lock for which others wait, with an event; see R__47_feed_lock_watchdog.sql.
--
-- :pid          integer           its server process
-- :transaction  text              the transaction that has the lock
-- :seconds      double precision  for how long it has held the lock, at least
--
-- One row: ended boolean.
select annals.end_feed_lock_holder(:pid, (:transaction::text)::xid, make_interval(secs => :seconds)) as ended
