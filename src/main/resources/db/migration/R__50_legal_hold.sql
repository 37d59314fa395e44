-- Legal holds. A hold covers a project, or the records of one actor or one subject in it. It stops redactions of what it covers, and
-- the retention of its whole project. A lifted hold stays in the table.

-- Waits for holds that are being set, and lets none be set before the transaction ends. A removal either commits before a hold or sees
-- it. Appends continue.
create or replace function annals.keep_holds(project_id uuid) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise feature_not_supported using
      message = format('isolation level %s: its snapshot may be older than a hold', current_setting('transaction_isolation')),
      hint = 'Remove values and records at the isolation level read committed.';
  end if;
  perform from annals.project where id = project_id for key share;
end $$;

-- Whether the project has a hold, which stops its retention.
create or replace function annals.is_held(project_id uuid) returns boolean
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select exists (select from annals.legal_hold as hold where hold.project_id = $1 and hold.lifted_at is null)
$$;

-- redact() calls this first.
create or replace function annals.refuse_held(record annals.audit_record) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  hold  uuid;
begin
  perform annals.keep_holds(record.project_id);
  select id into hold from annals.legal_hold
  where project_id = record.project_id and lifted_at is null
    and (actor_id is null or actor_id = record.actor_id) and (subject_id is null or subject_id = record.subject_id)
  order by id limit 1;
  if found then
    raise restrict_violation using
      message = format('record %s is under legal hold %s', record.id, hold),
      detail = hold::text,
      constraint = 'legal_hold_stops', schema = 'annals', table = 'legal_hold',
      hint = 'Nothing of it can be redacted until an administrator lifts the hold.';
  end if;
end $$;

-- Waits for redactions and removals in progress. From its commit on, there are none.
create or replace function annals.set_hold(
  project_id uuid, id uuid, actor_id text, subject_id text, reason text, actor_token uuid default null,
  address inet default inet_client_addr()) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  made annals.legal_hold;
begin
  perform annals.require_administrator(actor_token);
  perform from annals.project as p where p.id = project_id for update;
  insert into annals.legal_hold (id, project_id, actor_id, subject_id, reason)
  values (id, project_id, actor_id, subject_id, reason)
  returning * into made;
  perform annals.await_removal(project_id);
  perform annals.record_change('annals.hold.set', null, made, actor_token, address);
end $$;

create or replace function annals.lift_hold(
  project_id uuid, hold_id uuid, reason text, actor_token uuid default null,
  address inet default inet_client_addr()) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  old_row annals.legal_hold;
  new_row annals.legal_hold;
begin
  perform annals.require_administrator(actor_token);
  select * into old_row from annals.legal_hold as h where h.id = hold_id and h.project_id = project_id for no key update;
  if not found then
    raise no_data_found using
      message = format('project %s has no hold %s', project_id, hold_id),
      constraint = 'legal_hold_known', schema = 'annals', table = 'legal_hold';
  end if;
  if old_row.lifted_at is not null then
    return;
  end if;
  update annals.legal_hold as h set lifted_at = clock_timestamp(), lift_reason = reason
  where h.id = hold_id returning * into new_row;
  perform annals.record_change('annals.hold.lift', old_row, new_row, actor_token, address);
end $$;
