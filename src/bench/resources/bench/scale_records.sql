-- Inserts records $2 to $3 of each of the projects $1, by turns. If $4, each record is its own append, as of single requests, and a
-- project has one in two hours; otherwise a statement's records form appends of up to 256, and a project has one per second. Hashes
-- draw the values, so that all runs have the same records but for ids.
insert into annals.audit_record (
  project_id, id, placed_with, "timestamp", action, actor_type, actor_id, actor_name, subject_type, subject_id, subject_name,
  outcome, ip_address, message, metadata)
select project_id, id, case when $4::boolean then id else annals.shared_append_id() end,
  timestamptz '2026-01-01 00:00:00Z' + make_interval(secs => n * case when $4::boolean then 7200 else 1 end),
  action, 'user', 'u-' || actor, actor_name || '@example.org', 'volume', uuid_in(md5('subject ' || subject)::cstring)::text,
  'cache-' || subject % 1000, case when draw % 20 = 0 then 'failure' else 'success' end,
  ('10.' || address / 65536 || '.' || address / 256 % 256 || '.' || address % 256)::inet,
  'The call ' || action || ' on cache-' || subject % 1000 || ' was made by ' || actor_name,
  jsonb_build_object('region', 'eu-' || draw % 4, 'request', to_hex(hashint8extended(n, 3)))
from (
  select project_id, n, draw, actor, draw % (n / 8 + 1) as subject,
    (array['login', 'login', 'login', 'volume_read', 'volume_read', 'volume_create', 'volume_delete', 'server_start'])[1 + draw / 32 % 8]
      as action,
    (array['jane', 'john', 'aisha', 'wei', 'olga', 'pedro', 'fatima', 'lars'])[1 + actor % 8] as actor_name,
    hashint8extended(actor, 4)::bit(24)::integer as address,
    annals.sequential_guid() as id
  from (
    select project_id, n, draw,
      -- of 10,000 the first are the busiest; a subject has eight records on average
      floor(10000 * power((draw % 65536) / 65536.0::float8, 3))::integer as actor
    from generate_series($2::integer, $3::integer) as n
    cross join unnest($1::uuid[]) as project_id
    cross join lateral (select (uuid_hash_extended(project_id, n) & 1073741823)::integer as draw offset 0) as hashed
    offset 0) as drawn
  offset 0) as record
