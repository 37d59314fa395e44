-- Inserts records $2 to $3 of a project, one per second. A hash of the record's number draws the values, so that all runs have the
-- same. There are 100,000 actors: the busiest has some 6 percent of all records, the quietest one in 400,000; each has up to four
-- addresses. A subject is mostly one of the newest, sometimes any, and has eight records on average. One action and one word are in
-- one of 10,000 records, another action in one of a million.
insert into annals.audit_record (
  project_id, "timestamp", action, actor_type, actor_id, actor_name, subject_type, subject_id, subject_name,
  outcome, ip_address, message, metadata)
select $1, timestamptz '2026-01-01 00:00:00Z' + make_interval(secs => n),
  action, 'user', 'u-' || actor, (array['jane', 'john', 'aisha', 'wei', 'olga', 'pedro', 'fatima'])[1 + actor % 7] || '.' || actor || '@example.org',
  'volume', uuid_in(md5('subject ' || subject)::cstring)::text, 'cache-' || subject % 1000,
  case when draw_outcome % 20 = 0 then 'failure' when draw_outcome % 100 = 7 then 'denied' else 'success' end,
  ('10.' || address / 65536 % 256 || '.' || address / 256 % 256 || '.' || address % 256)::inet,
  'The call ' || action || ' on cache-' || subject % 1000 || ' in ' || (array['eu-1', 'eu-2', 'us-1', 'ap-1'])[1 + draw_outcome % 4]
    || case when n % 10000 = 7000 then ' was made under protest' else ' has been accepted' end,
  jsonb_build_object('region', (array['eu-1', 'eu-2', 'us-1', 'ap-1'])[1 + draw_outcome % 4], 'request_id', 'r-' || n)
from (
  select n, actor, draw_outcome,
    case when n % 1000000 = 123456 then 'project_transfer' when n % 10000 = 5000 then 'key_rotate'
      else (array['login', 'login', 'login', 'volume_read', 'volume_read', 'volume_create', 'volume_delete', 'server_start', 'server_stop', 'token_issue'])
        [1 + draw_action % 10] end as action,
    -- the newest subject has the number n / 8
    case when draw_action / 16 % 10 < 7 then greatest(0, n / 8 - draw_subject % 600) else draw_subject % (n / 8 + 1) end as subject,
    ((hashint8extended(actor * 4 + draw_action % 4, 5) & 16777215))::integer as address
  from (
    select n,
      floor(100000 * power((hashint8extended(n, 1) & 1073741823) / 1073741824.0::float8, 4))::integer as actor,
      (hashint8extended(n, 2) & 1073741823)::integer as draw_action,
      (hashint8extended(n, 3) & 1073741823)::integer as draw_subject,
      (hashint8extended(n, 4) & 1073741823)::integer as draw_outcome
    from generate_series($2::integer, $3::integer) as n offset 0) as drawn
  offset 0) as record
