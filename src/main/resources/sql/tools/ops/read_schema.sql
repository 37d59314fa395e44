-- The objects of the schema, one line each, for a comparison with the shipped schema. It omits texts that differ between versions of
-- PostgreSQL (views, constraints of NOT NULL), parentheses of constraints, which a restored dump may lack, and the owner's privileges.
-- It needs the search path pg_catalog and the time zone UTC, which appear in expressions.
--
-- Rows in order: thing text.
with schema as materialized (
  select oid, nspowner from pg_catalog.pg_namespace where nspname = 'annals'
), grants as materialized (
  select 'table ' || c.relname as on_what, acl.grantee, acl.privilege_type
  from pg_catalog.pg_class as c cross join lateral pg_catalog.aclexplode(c.relacl) as acl
  where c.relnamespace = (select oid from schema) and c.relkind in ('r', 'v') and c.relowner <> acl.grantee
  union all
  select 'column ' || c.relname || '.' || a.attname, acl.grantee, acl.privilege_type
  from pg_catalog.pg_class as c
  join pg_catalog.pg_attribute as a on a.attrelid = c.oid
  cross join lateral pg_catalog.aclexplode(a.attacl) as acl
  where c.relnamespace = (select oid from schema) and c.relowner <> acl.grantee
  union all
  select 'function ' || p.proname, coalesce(acl.grantee, 0), coalesce(acl.privilege_type, 'EXECUTE')
  from pg_catalog.pg_proc as p
  -- without an entry, every role may execute it
  left join lateral pg_catalog.aclexplode(p.proacl) as acl on true
  where p.pronamespace = (select oid from schema) and (p.proacl is null or p.proowner <> acl.grantee)
  union all
  select 'schema annals', acl.grantee, acl.privilege_type
  from pg_catalog.pg_namespace as n cross join lateral pg_catalog.aclexplode(n.nspacl) as acl
  where n.oid = (select oid from schema) and n.nspowner <> acl.grantee
)
select regexp_replace(thing, '\s+', ' ', 'g') as thing from (
  select format('column %s.%s %s%s%s%s', c.relname, a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod),
    case when a.attcollation <> t.typcollation then ' collate ' || l.collname else '' end,
    case when a.attnotnull then ' not null' else '' end,
    coalesce(' default ' || pg_catalog.pg_get_expr(d.adbin, d.adrelid), '')) as thing
  from pg_catalog.pg_class as c
  join pg_catalog.pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  join pg_catalog.pg_type as t on t.oid = a.atttypid
  left join pg_catalog.pg_collation as l on l.oid = a.attcollation
  left join pg_catalog.pg_attrdef as d on d.adrelid = c.oid and d.adnum = a.attnum
  where c.relnamespace = (select oid from schema) and c.relkind in ('r', 'v') and c.relname <> 'flyway_schema_history'
  union all
  select format('table %s%s%s', c.relname,
    case c.relpersistence when 'p' then '' else ' not logged' end,
    case when c.relrowsecurity then ' row security' else '' end)
  from pg_catalog.pg_class as c
  where c.relnamespace = (select oid from schema) and c.relkind = 'r' and c.relname <> 'flyway_schema_history'
  union all
  select format('constraint %s on %s: %s%s', con.conname, c.relname, pg_catalog.translate(pg_catalog.pg_get_constraintdef(con.oid), '()', ''),
    case when con.convalidated then '' else ' not checked' end)
  from pg_catalog.pg_constraint as con
  join pg_catalog.pg_class as c on c.oid = con.conrelid
  where con.connamespace = (select oid from schema) and con.contype not in ('n', 't') and c.relname <> 'flyway_schema_history'
  union all
  select format('constraint %s on type %s: %s', con.conname, t.typname, pg_catalog.translate(pg_catalog.pg_get_constraintdef(con.oid), '()', ''))
  from pg_catalog.pg_constraint as con
  join pg_catalog.pg_type as t on t.oid = con.contypid
  where con.connamespace = (select oid from schema) and con.contype <> 'n'
  union all
  select format('index %s: %s%s', c.relname, pg_catalog.pg_get_indexdef(i.indexrelid),
    case when i.indisvalid and i.indisready then '' else ' not valid' end)
  from pg_catalog.pg_index as i
  join pg_catalog.pg_class as c on c.oid = i.indexrelid
  join pg_catalog.pg_class as indexed on indexed.oid = i.indrelid
  where c.relnamespace = (select oid from schema) and indexed.relname <> 'flyway_schema_history'
  union all
  select format('trigger %s on %s: %s%s', t.tgname, c.relname, pg_catalog.pg_get_triggerdef(t.oid),
    case t.tgenabled when 'O' then '' when 'D' then ' disabled' else ' enabled as ' || t.tgenabled::text end)
  from pg_catalog.pg_trigger as t
  join pg_catalog.pg_class as c on c.oid = t.tgrelid
  where c.relnamespace = (select oid from schema) and not t.tgisinternal
  union all
  select format('rule %s on %s', r.rulename, c.relname)
  from pg_catalog.pg_rewrite as r join pg_catalog.pg_class as c on c.oid = r.ev_class
  where c.relnamespace = (select oid from schema) and r.rulename <> '_RETURN'
  union all
  select format('policy %s on %s', p.polname, c.relname)
  from pg_catalog.pg_policy as p join pg_catalog.pg_class as c on c.oid = p.polrelid
  where c.relnamespace = (select oid from schema)
  union all
  select format('function %s(%s) returns %s%s%s, %s', p.proname, pg_catalog.pg_get_function_identity_arguments(p.oid),
    pg_catalog.pg_get_function_result(p.oid),
    case when p.prosecdef then ' security definer' else '' end,
    coalesce(' set ' || array_to_string(p.proconfig, ', '), ''),
    -- PostgreSQL formats the text of functions that were parsed at their creation
    case when p.prosqlbody is null then 'text ' || pg_catalog.md5(p.prosrc) else 'parsed' end)
  from pg_catalog.pg_proc as p
  where p.pronamespace = (select oid from schema)
  union all
  select format('owner of %s %s: another one than of the schema',
    case c.relkind when 'r' then 'table' when 'v' then 'view' else 'relation' end, c.relname)
  from pg_catalog.pg_class as c
  where c.relnamespace = (select oid from schema) and c.relowner <> (select nspowner from schema) and c.relkind <> 'i'
  union all
  select format('owner of function %s: another one than of the schema', p.proname)
  from pg_catalog.pg_proc as p
  where p.pronamespace = (select oid from schema) and p.proowner <> (select nspowner from schema)
  union all
  select format('privilege %s on %s for %s', privilege_type, on_what,
    case when grantee = 0 then 'public' else pg_catalog.pg_get_userbyid(grantee) end)
  from grants
  -- other roles with privileges from the operator, except writes
  where grantee = 0 or pg_catalog.pg_get_userbyid(grantee) in ('annals_service', 'annals_writer')
    or privilege_type not in ('SELECT', 'USAGE', 'EXECUTE')
) as things
order by thing collate "C"
