insert into audit_record (
  project_id, action, actor_type, actor_id, actor_name, subject_type, subject_id, subject_name,
  outcome, ip_address, message, metadata)
values (
  lpad(:project::text, 32, '0')::uuid, 'account_update', 'user', :tid, 'teller@example.org', 'account', :aid, 'current account',
  'success', '185.98.12.34', 'The teller changed the balance of the account by the amount in the metadata',
  jsonb_build_object('amount', :delta::int, 'branch', :bid::int, 'region', 'eu-1'));
