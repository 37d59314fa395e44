-- Legal hold: what must stay as it is, however old it is and whoever asks for its removal. A hold covers a project, or in it the
-- records of one actor or of one subject. It stops redactions of what it covers, and the retention of its whole project.
--
-- Each hold has its events in the administration's feed, as everything in V11 has. A hold that was lifted stays in the table.

create table annals.legal_hold (
  id           uuid           not null,
  project_id   uuid           not null,
  -- Both null: the hold covers the whole project.
  actor_id     varchar(1024),
  subject_id   varchar(1024),
  reason       varchar(1024)  not null,
  created_at   timestamptz    not null default clock_timestamp(),
  lifted_at    timestamptz,
  lift_reason  varchar(1024),
  constraint legal_hold_pkey primary key (id),
  constraint legal_hold_project_fkey foreign key (project_id) references annals.project (id),
  constraint legal_hold_covers check (
    num_nonnulls(actor_id, subject_id) <= 1 and actor_id <> '' and subject_id <> ''),
  constraint legal_hold_reason check (reason <> '' and lift_reason <> ''),
  constraint legal_hold_lifted check ((lifted_at is null) = (lift_reason is null))
);
create index legal_hold_project_idx on annals.legal_hold (project_id, id);
create index legal_hold_active_idx on annals.legal_hold (project_id, actor_id, subject_id) where lifted_at is null;

create function annals.hold_state(hold annals.legal_hold) returns jsonb
language sql stable set timezone = 'UTC'
as $$
  select jsonb_build_object('id', hold.id, 'project_id', hold.project_id, 'actor_id', hold.actor_id,
    'subject_id', hold.subject_id, 'reason', hold.reason, 'created_at', hold.created_at, 'lifted_at', hold.lifted_at,
    'lift_reason', hold.lift_reason)
  where hold.id is not null
$$;

-- Waits until no hold of the project is being set, and lets none be set before the transaction ends. So whatever removes something
-- comes before a hold, with its commit, or sees it. Appends go on.
create function annals.keep_holds(project_id uuid) returns void
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

-- Whether anything of a project is held, which stops its retention.
create function annals.is_held(project_id uuid) returns boolean
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select exists (select from annals.legal_hold as hold where hold.project_id = $1 and hold.lifted_at is null)
$$;

-- What redacts a record calls this first.
create function annals.refuse_held(record annals.audit_record) returns void
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

-- Waits for redactions and removals that are under way. From its commit on, there are none any more.
create function annals.set_hold(
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
  perform annals.record_event('annals.hold.set', 'hold', made.id::text, null,
    jsonb_build_object('before', null, 'after', annals.hold_state(made)), actor_token, address);
end $$;

create function annals.lift_hold(
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
  perform annals.record_event('annals.hold.lift', 'hold', hold_id::text, null,
    jsonb_build_object('before', annals.hold_state(old_row), 'after', annals.hold_state(new_row)), actor_token, address);
end $$;
