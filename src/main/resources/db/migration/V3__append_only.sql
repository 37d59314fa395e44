-- Records, appends and segments are never changed and never removed: the database refuses, whoever asks.
create function annals.refuse_change() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  raise restrict_violation using
    message = format('%s refused: %I.%I is append-only', tg_op, tg_table_schema, tg_table_name),
    hint = 'To correct a record, append another one that says so.';
end $$;

create trigger append_only before update or delete or truncate on annals.audit_record
  for each statement execute function annals.refuse_change();
create trigger append_only before update or delete or truncate on annals.append
  for each statement execute function annals.refuse_change();
create trigger append_only before update or delete or truncate on annals.feed_segment
  for each statement execute function annals.refuse_change();
