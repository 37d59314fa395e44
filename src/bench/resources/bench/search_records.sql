-- Records $2 to $3 of a project: five actions, and one in 10,000 that is rare; 100,000 actors; a subject of its own each.
insert into annals.audit_record (
  project_id, "timestamp", action, actor_type, actor_id, actor_name, subject_type, subject_id, subject_name,
  outcome, ip_address, message, metadata)
select $1, timestamptz '2026-01-01 00:00:00Z' + make_interval(secs => n),
  case when n % 10000 = 5000 then 'key_rotate'
    else (array['volume_create', 'volume_delete', 'server_start', 'server_stop', 'login'])[1 + n % 5] end,
  'user', 'u-' || n::bigint * 7919 % 100000, (array['jane', 'john', 'aisha', 'wei', 'olga', 'pedro', 'fatima'])[1 + n % 7] || '@example.org',
  'volume', gen_random_uuid()::text, 'cache-' || n % 100,
  case when n % 20 = 0 then 'failure' else 'success' end,
  ('185.98.' || n / 256 % 256 || '.' || n % 256)::inet,
  'The call ' || (array['create', 'delete', 'start', 'stop', 'login'])[1 + n % 5] || ' on cache-' || n % 100
    || ' was made' || case when n % 10000 = 7000 then ' under protest' else '' end,
  '{"region": "eu-1"}'
from generate_series($2::integer, $3::integer) as n
