-- Limits the time of each of the next statements of this transaction, unless the session has a shorter limit, and enables hash joins, for
-- count_facets.sql alone.
--
-- :millis  bigint
select
  set_config(
    'statement_timeout',
    least(:millis::bigint, (extract(epoch from current_setting('statement_timeout')::interval) * 1000)::bigint)::text,
    true),
  set_config('enable_hashjoin', 'on', true)
