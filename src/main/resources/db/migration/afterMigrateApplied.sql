-- Flyway runs this when it has applied migrations. It would print the result of a query.
do $$
begin
  perform annals.record_event('annals.schema.migrate', 'schema', 'annals', null,
    jsonb_build_object(
      'before', jsonb_build_object('version', (
        select metadata #> '{after,version}' from annals.feed
        where project_id = annals.administration() and action = 'annals.schema.migrate'
        order by sequence_id desc limit 1)),
      'after', jsonb_build_object('version', (
        select version from annals.flyway_schema_history
        where version is not null and success order by installed_rank desc limit 1))),
    null, inet_client_addr());
end $$;
