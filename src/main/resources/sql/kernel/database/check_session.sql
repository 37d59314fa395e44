-- Describes the session of a new connection, before any other statement.
--
-- One row: role text and login text, the role of its statements and of its login; backend integer, the server
-- process; started bigint, the start of its server, in microseconds since 1970, which identifies the server; standby boolean,
-- whether the server only reads; and the settings as numbers of milliseconds, lock_timeout,
-- statement_timeout and idle_in_transaction_session_timeout bigint, or as text: enable_seqscan, enable_hashjoin,
-- enable_mergejoin, plan_cache_mode, jit, array_nulls, bytea_output, default_transaction_deferrable, default_transaction_isolation,
-- gin_fuzzy_search_limit, intervalstyle, quote_all_identifiers, standard_conforming_strings, transform_null_equals, search_path.
select
  current_user::text as role,
  session_user::text as login,
  pg_backend_pid() as backend,
  (extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint as started,
  pg_is_in_recovery() as standby,
  (extract(epoch from current_setting('lock_timeout')::interval) * 1000)::bigint as lock_timeout,
  (extract(epoch from current_setting('statement_timeout')::interval) * 1000)::bigint as statement_timeout,
  (extract(epoch from current_setting('idle_in_transaction_session_timeout')::interval) * 1000)::bigint
    as idle_in_transaction_session_timeout,
  current_setting('enable_seqscan') as enable_seqscan,
  current_setting('enable_hashjoin') as enable_hashjoin,
  current_setting('enable_mergejoin') as enable_mergejoin,
  current_setting('plan_cache_mode') as plan_cache_mode,
  current_setting('jit') as jit,
  current_setting('array_nulls') as array_nulls,
  current_setting('bytea_output') as bytea_output,
  current_setting('default_transaction_deferrable') as default_transaction_deferrable,
  current_setting('default_transaction_isolation') as default_transaction_isolation,
  current_setting('gin_fuzzy_search_limit') as gin_fuzzy_search_limit,
  current_setting('intervalstyle') as intervalstyle,
  current_setting('quote_all_identifiers') as quote_all_identifiers,
  current_setting('standard_conforming_strings') as standard_conforming_strings,
  current_setting('transform_null_equals') as transform_null_equals,
  current_setting('search_path') as search_path
