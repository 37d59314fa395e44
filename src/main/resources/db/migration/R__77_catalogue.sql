-- Catalogues of actions: what the actions of a project mean, and what becomes of records that do not fit. Records are never changed by a
-- catalogue.

-- Sets policies and actions, and appends an event for each that changes. A null policy stays as it is. With "whole", actions that are not
-- named are deleted.
create or replace function annals.set_catalogue(
  project_id uuid, unknown_actions text, ill_formed_metadata text, actions jsonb, whole boolean, most integer, most_bytes integer,
  actor_token uuid default null, address inet default inet_client_addr()) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_catalogue  annals.catalogue;
  new_catalogue  annals.catalogue;
  old_action     annals.catalogue_action;
  new_action     annals.catalogue_action;
  asked          annals.catalogue_action;
  changed        boolean := false;
begin
  perform annals.require_administrator(actor_token);
  -- One change of a project's catalogue at a time.
  perform annals.lock_project(project_id);
  select * into old_catalogue from annals.catalogue as c where c.project_id = project_id;
  insert into annals.catalogue as c (project_id, unknown_actions, ill_formed_metadata)
  values (project_id, coalesce(unknown_actions, 'accept'), coalesce(ill_formed_metadata, 'accept'))
  on conflict on constraint catalogue_pkey do update
  set unknown_actions = coalesce(unknown_actions, c.unknown_actions),
    ill_formed_metadata = coalesce(ill_formed_metadata, c.ill_formed_metadata)
  returning * into new_catalogue;
  if old_catalogue is distinct from new_catalogue then
    perform annals.record_change('annals.catalogue.set', old_catalogue, new_catalogue, actor_token, address);
    changed := true;
  end if;
  for asked in select * from jsonb_populate_recordset(null::annals.catalogue_action, actions) loop
    asked.project_id := project_id;
    select * into old_action from annals.catalogue_action as a where a.project_id = project_id and a.name = asked.name;
    if old_action is distinct from asked then
      insert into annals.catalogue_action as a select (asked).*
      on conflict on constraint catalogue_action_pkey do update
      set title = excluded.title, description = excluded.description, category = excluded.category, severity = excluded.severity,
        ocsf_class = excluded.ocsf_class, metadata_schema = excluded.metadata_schema
      returning * into new_action;
      perform annals.record_change('annals.action.set', old_action, new_action, actor_token, address);
      changed := true;
    end if;
  end loop;
  if whole then
    for old_action in
      delete from annals.catalogue_action as a
      where a.project_id = project_id
        and a.name not in (select item ->> 'name' from jsonb_array_elements(actions) as item)
      returning *
    loop
      perform annals.record_change('annals.action.delete', old_action, null, actor_token, address);
      changed := true;
    end loop;
  end if;
  if (select count(*) > most or coalesce(sum(octet_length(a.metadata_schema::text)), 0) > most_bytes
      from annals.catalogue_action as a where a.project_id = project_id) then
    raise program_limit_exceeded using
      message = format('project %s may have %s actions, with schemas of %s bytes together', project_id, most, most_bytes),
      constraint = 'catalogue_limit', schema = 'annals', table = 'catalogue_action';
  end if;
  if changed then
    update annals.catalogue as c set version = c.version + 1 where c.project_id = project_id;
  end if;
end $$;

-- Deletes an action from the catalogue, and appends the event. Its records stay.
create or replace function annals.delete_catalogue_action(
  project_id uuid, name text, actor_token uuid default null, address inet default inet_client_addr()) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_action annals.catalogue_action;
begin
  perform annals.require_administrator(actor_token);
  perform annals.lock_project(project_id);
  delete from annals.catalogue_action as a where a.project_id = project_id and a.name = name returning * into old_action;
  if old_action.name is null then
    raise no_data_found using
      message = format('the catalogue of project %s has no action %s', project_id, name),
      constraint = 'catalogue_action_known', schema = 'annals', table = 'catalogue_action';
  end if;
  update annals.catalogue as c set version = c.version + 1 where c.project_id = project_id;
  perform annals.record_change('annals.action.delete', old_action, null, actor_token, address);
end $$;
