-- What this statement sees of the server's transactions.
--
-- One row: commits text. While it is the same, no transaction has ended that wrote.
select pg_current_snapshot()::text as commits
