-- What a new connection to the database is, before anything else is sent on it.
--
-- One row: role text and login text, who its statements run as and who logged in; backend integer, the server process that
-- answers; standby boolean, whether the server only reads; and the settings as numbers of milliseconds, lock_timeout,
-- statement_timeout and idle_in_transaction_session_timeout bigint, or as text: enable_seqscan, enable_hashjoin,
-- enable_mergejoin, plan_cache_mode, jit.
select
  current_user::text as role,
  session_user::text as login,
  pg_backend_pid() as backend,
  pg_is_in_recovery() as standby,
  (extract(epoch from current_setting('lock_timeout')::interval) * 1000)::bigint as lock_timeout,
  (extract(epoch from current_setting('statement_timeout')::interval) * 1000)::bigint as statement_timeout,
  (extract(epoch from current_setting('idle_in_transaction_session_timeout')::interval) * 1000)::bigint
    as idle_in_transaction_session_timeout,
  current_setting('enable_seqscan') as enable_seqscan,
  current_setting('enable_hashjoin') as enable_hashjoin,
  current_setting('enable_mergejoin') as enable_mergejoin,
  current_setting('plan_cache_mode') as plan_cache_mode,
  current_setting('jit') as jit
