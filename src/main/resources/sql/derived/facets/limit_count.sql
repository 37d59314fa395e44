-- Limits how long each of the next statements of this transaction may run, where the session has no shorter limit, and lets
-- count_facets.sql join by hashes, which no other statement may.
--
-- :millis  bigint
select
  set_config(
    'statement_timeout',
    least(:millis::bigint, (extract(epoch from current_setting('statement_timeout')::interval) * 1000)::bigint)::text,
    true),
  set_config('enable_hashjoin', 'on', true)
