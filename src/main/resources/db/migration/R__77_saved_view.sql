-- Saved views: filters and columns with a name, which all readers of a project see. They change only through these functions.

-- Makes or redefines a view. One that is set to what it is leaves no event.
create or replace function annals.set_view(
  project_id uuid, id uuid, name text, filter jsonb, last text, columns jsonb, most integer, actor_token uuid default null,
  address inet default inet_client_addr()) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.saved_view;
  new_row annals.saved_view;
begin
  perform annals.require_streaming(project_id, actor_token);
  -- One at a time in a project, so that their number is known.
  perform from annals.project as p where p.id = project_id for no key update;
  select * into old_row from annals.saved_view as v where v.project_id = project_id and v.name = name for update;
  if old_row.id is null then
    if (select count(*) from annals.saved_view as v where v.project_id = project_id) >= most then
      raise program_limit_exceeded using
        message = format('project %s has %s views, as many as it may have', project_id, most),
        constraint = 'saved_view_limit', schema = 'annals', table = 'saved_view';
    end if;
    insert into annals.saved_view (id, project_id, name, filter, last, columns)
    values (id, project_id, name, filter, last, columns)
    returning * into new_row;
  elsif (old_row.filter, old_row.last, old_row.columns) is distinct from (filter, last, columns) then
    update annals.saved_view as v set filter = filter, last = last, columns = columns, changed_at = clock_timestamp()
    where v.id = old_row.id returning * into new_row;
  else
    return;
  end if;
  perform annals.record_change('annals.view.set', old_row, new_row, actor_token, address);
end $$;

-- Deletes a view. The name is free again.
create or replace function annals.delete_view(
  project_id uuid, name text, actor_token uuid default null, address inet default inet_client_addr()) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.saved_view;
begin
  perform annals.require_streaming(project_id, actor_token);
  delete from annals.saved_view as v where v.project_id = project_id and v.name = name returning * into old_row;
  if old_row.id is null then
    raise no_data_found using
      message = format('project %s has no view %s', project_id, name),
      constraint = 'saved_view_known', schema = 'annals', table = 'saved_view';
  end if;
  perform annals.record_change('annals.view.delete', old_row, null, actor_token, address);
end $$;
