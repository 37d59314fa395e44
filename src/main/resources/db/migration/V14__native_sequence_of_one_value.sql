-- As in V10, but for a sequence that has the value 1 and no other: PostgreSQL wants a maximum above the minimum.
create or replace function annals.keep_native_sequence() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_op = 'UPDATE' then
    if new.deleted_at is not null and old.deleted_at is null then
      execute format('drop sequence if exists %s', annals.native_sequence_name(new.id));
    end if;
    return null;
  end if;
  if (select count(*) from annals.sequence where project_id = new.project_id) > 1000 then
    raise check_violation using
      message = format('project %s has 1000 sequences', new.project_id),
      constraint = 'sequence_limit', schema = 'annals', table = 'sequence';
  end if;
  if new.kind in ('NATIVE', 'BIT_REVERSED') then
    execute format('create sequence %s as bigint minvalue %s maxvalue %s start with %s cache %s',
      annals.native_sequence_name(new.id), least(1, new.max_value - 1), new.max_value, new.start, new.batch_size);
    execute format('grant usage on sequence %s to annals_service', annals.native_sequence_name(new.id));
  end if;
  return null;
end $$;
