-- Flyway runs this when it has applied migrations. It would print the result of a query.
do $$
begin
  perform annals.record_event('annals.schema.migrate', 'schema', 'annals', null,
    jsonb_build_object(
      'before', (
        select metadata -> 'after' from annals.feed
        where project_id = annals.administration() and action = 'annals.schema.migrate'
        order by sequence_id desc limit 1),
      'after', (
        -- a repeatable migration has no version
        select jsonb_build_object('version', (array_agg(version order by installed_rank desc) filter (where version is not null))[1],
          'migrations', count(*))
        from annals.flyway_schema_history where success and installed_rank > 0)),
    null, inet_client_addr());
  -- Compared before the next migration: see forget_lost_privileges.sql.
  execute format('comment on schema annals is %L', 'Privileges ' || annals.privilege_digest());
end $$;
