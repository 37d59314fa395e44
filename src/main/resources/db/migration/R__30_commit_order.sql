-- COMMIT_ORDERED: numbers the rows of the caller's table when their transaction commits.
--
-- A writer of such a table controls its session: settings, savepoints, SET CONSTRAINTS. The numbers depend only on the counters,
-- which it cannot write. Two settings are hints, checked against the rows before use:
--
--   annals.commit_<hash>      the groups with rows of this transaction that wait, each with the key of such a row. All transactions
--                             lock them in one order, so that writers of several groups do not deadlock. A group is locked ahead
--                             only if the row exists, is in the group and has no number: its number would lock it anyway.
--   annals.commit_at_<0-255>  where a counter's newest version is. To find it among the n versions that the transaction made takes
--                             n steps. A wrong place holds no visible counter of the group, which is then found by its key.
--
-- A setting that cannot be parsed fails the transaction that set it.

-- Notes that a row waits for its number. It runs in the WHEN of a trigger, as the inserting role, and without a search path, which would
-- double its cost. The first group is noted alone, after an equals sign: most transactions have one. Beyond 16 KiB, some 400 groups,
-- groups are locked as their rows come.
create or replace function annals.note_commit_row(setting text, group_key text, key jsonb) returns boolean
language plpgsql
as $$
declare
  noted pg_catalog.text := pg_catalog.current_setting(setting, true);
  first pg_catalog.text := pg_catalog.concat('=', group_key);
  entry pg_catalog.text;
begin
  if noted is null or pg_catalog.texteq(noted, '') then
    noted := pg_catalog.set_config(setting, first, true);
  elsif not pg_catalog.texteq(noted, first) and pg_catalog.int4lt(pg_catalog.octet_length(noted), 16384) then
    entry := pg_catalog.concat('{"g": ', pg_catalog.to_json(group_key), ', ');
    if pg_catalog.starts_with(noted, '=') then
      noted := '';
    end if;
    if pg_catalog.int4eq(pg_catalog.strpos(noted, entry), 0) then
      noted := pg_catalog.set_config(setting,
        pg_catalog.concat(noted, entry, pg_catalog.substr(key::pg_catalog.text, 2), ','), true);
    end if;
  end if;
  return true;
end $$;

-- Numbers the rows of a table in commit order: 1, 2, 3 … without a gap, in the whole table or in each group.
--
-- It creates, with the table's schema and owner, <table>_commit_order with the last number of each group, <table>_commit_group, whose key
-- gives each group one counter, and a function <table>_commit_order() with this table's statements, so that they are not planned for
-- every row. The index of the counters is not unique: a unique one would check every version that a transaction made before.
-- Groups are compared byte by byte, whatever the collation of their column, so that no library of the server changes the order of an index.
--
-- A transaction locks nothing before its commit, or SET CONSTRAINTS IMMEDIATE. It locks its groups in one order within each table.
-- Transactions that write to several such tables should write in one order, or PostgreSQL may end one with 40P01.
--
-- The table needs a primary key; the column is a nullable bigint. Rows have null in it; any other value is refused at commit. Writers
-- need no right on the column; a role that may update it can change numbers. A row whose primary key changes in the transaction that
-- inserted it stays without a number.
create or replace function annals.attach_commit_order(target regclass, column_name name, group_column name default null) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $attach$
declare
  schema_name name;
  table_name  name;
  owner       regrole;
  counter     text;
  groups      text;
  new_group   text := case when group_column is null then '''''::text' else format('coalesce(new.%I::text, '''') collate "C"', group_column) end;
  row_group   text := case when group_column is null then '''''::text' else format('coalesce(t.%I::text, '''') collate "C"', group_column) end;
  setting     text := 'annals.commit_' || left(replace(gen_random_uuid()::text, '-', ''), 16);
  own_row     text;
  noted_row   text;
  key_object  text;
  key_columns text;
  key_values  text;
  stray       boolean;
  kind        text;
  made        text;
  other       oid;
begin
  select n.nspname, c.relname, c.relowner into schema_name, table_name, owner
    from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = target;
  if not pg_has_role(owner, 'member') then
    raise insufficient_privilege using message = format('must be owner of table %s', target);
  end if;
  if octet_length(table_name) > 50 then
    raise name_too_long using
      message = format('the name of table %s has more than 50 bytes', target),
      hint = 'Beside it come tables with its name and _commit_order or _commit_group.';
  end if;
  select string_agg(format('t.%1$I = new.%1$I', a.attname), ' and ' order by a.attnum),
      string_agg(format('t.%I = waiting.k%s', a.attname, a.attnum), ' and ' order by a.attnum),
      string_agg(format('%L, new.%I', 'k' || a.attnum, a.attname), ', ' order by a.attnum),
      string_agg(format('k%s %s', a.attnum, format_type(a.atttypid, a.atttypmod)), ', ' order by a.attnum),
      string_agg(format('new.%I', a.attname), ', ' order by a.attnum)
    into own_row, noted_row, key_object, key_columns, key_values
    from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
    where i.indrelid = target and i.indisprimary;
  if own_row is null then
    raise invalid_table_definition using message = format('table %s has no primary key', target);
  end if;
  perform from pg_attribute
    where attrelid = target and attname = column_name and atttypid = 'bigint'::regtype and not attnotnull and attnum > 0;
  if not found then
    raise invalid_column_definition using
      message = format('%s has no column %I that is a bigint and may be null', target, column_name);
  end if;
  counter := format('%I.%I', schema_name, table_name || '_commit_order');
  groups := format('%I.%I', schema_name, table_name || '_commit_group');

  execute format('lock table %s in share row exclusive mode', target);
  execute format('select exists (select from %s where %I is null)', target, column_name) into stray;
  if stray then
    raise object_not_in_prerequisite_state using
      message = format('%s has rows without a number in %I', target, column_name),
      hint = 'Number them first.';
  end if;
  execute format($sql$
    create table %1$s (
      group_key text collate "C" not null,
      last_value bigint not null
    ) with (fillfactor = 10);
    create index on %1$s (group_key);
    -- Otherwise a publication of all tables refuses updates.
    alter table %1$s replica identity full;
    create table %2$s (
      group_key text collate "C" primary key
    );
    insert into %1$s select %3$s, max(t.%4$I) from %5$s t group by 1;
    insert into %2$s select group_key from %1$s
    $sql$, counter, groups, row_group, column_name, target);

  execute format($sql$
    create function %1$s() returns trigger
    language plpgsql security definer set search_path = pg_catalog, pg_temp
    as $trigger$
    #variable_conflict use_variable
    declare
      this     text := %3$s;
      noted    text := current_setting(%4$L, true);
      place    text;
      hint     text;
      at       tid;
      head     bigint;
      numbered boolean;
      waiting  record;
    begin
      if new.%6$I is not null then
        raise generated_always using
          message = format('a row of %%s came with %%s in %%I, which is numbered at commit', %5$L, new.%6$I, %6$L),
          hint = 'Leave the column out.',
          schema = %12$L, table = %13$L, column = %6$L;
      end if;

      -- Several groups wait. This row's group is the first one, or as good as any.
      if starts_with(noted, '{') then
        for waiting in
          select w.* from (
            select * from jsonb_to_recordset(('[' || rtrim(noted, ',') || ']')::jsonb) as n (g text, %10$s)
            union all select this, %11$s
          ) w order by w.g collate "C"
        loop
          perform from %5$s t where %9$s and t.%6$I is null and %8$s = waiting.g;
          continue when not found;
          perform from %1$s c where c.group_key = waiting.g for no key update;
          continue when found;
          insert into %2$s values (waiting.g) on conflict do nothing;
          if found then
            insert into %1$s values (waiting.g, 0);
          else
            perform from %1$s c where c.group_key = waiting.g for no key update;
          end if;
        end loop;
        noted := set_config(%4$L, '', true);
      end if;

      -- Once, plus once more in each of two cases: the row has been moved to another group since, or it is the first row of
      -- a group.
      for attempt in 1 .. 3 loop
        place := 'annals.commit_at_' || (hashtext(this) & 255);
        hint := current_setting(place, true);
        numbered := null;
        if hint <> '' then
          update %1$s c set last_value = c.last_value + 1 where c.ctid = hint::tid and c.group_key = this
            returning c.last_value, c.ctid into head, at;
          if found then
            update %5$s t set %6$I = head where %7$s and t.%6$I is null and %8$s = this;
            numbered := found;
          end if;
        end if;
        if numbered is null then
          with counter as (
            update %1$s c set last_value = c.last_value + 1 where c.group_key = this
              returning c.last_value as head, c.ctid as at
          ), numbered as (
            update %5$s t set %6$I = counter.head from counter where %7$s and t.%6$I is null and %8$s = this
              returning true
          )
          select counter.at, exists (select from numbered) into at, numbered from counter;
        end if;
        if not numbered then
          update %1$s c set last_value = c.last_value - 1 where c.ctid = at returning c.ctid into at;
        end if;
        if numbered is not null then
          hint := set_config(place, at::text, true);
        end if;
        if numbered then
          return null;
        end if;

        select %8$s into this from %5$s t where %7$s and t.%6$I is null;
        if not found then
          return null; -- deleted, or numbered
        end if;
        insert into %2$s select this where numbered is null on conflict do nothing;
        if found then
          insert into %1$s values (this, 0);
        end if;
      end loop;
      raise data_corrupted using message = format('%%s has no counter for group %%L', %14$L, this);
    end $trigger$
    $sql$, counter, groups, new_group, setting, target, column_name, own_row, row_group, noted_row, key_columns, key_values,
    schema_name, table_name, counter);

  if pg_get_userbyid(owner) <> current_user then
    execute format('alter table %s owner to %s', counter, owner);
    execute format('alter table %s owner to %s', groups, owner);
    execute format('alter function %s() owner to %s', counter, owner);
  end if;
  -- Including what default privileges may have granted. A role that may call the function could number rows of this table from
  -- its own table. The existing triggers need no right.
  for kind, made, other in
    select 'table', c.oid::regclass::text, a.grantee from pg_class c, aclexplode(c.relacl) a
      where c.oid in (counter::regclass, groups::regclass) and a.grantee <> owner
    union
    select 'function', p.oid::regprocedure::text, a.grantee
      from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
      where p.oid = (counter || '()')::regprocedure and a.grantee <> owner
  loop
    execute format('revoke all on %s %s from %s', kind, made, case other when 0 then 'public' else other::regrole::text end);
  end loop;
  -- One group needs no order.
  execute format('create constraint trigger commit_order after insert on %s deferrable initially deferred for each row %s'
      'execute function %s(%L)',
    target,
    case when group_column is null then ''
      else format('when (annals.note_commit_row(%L, %s, jsonb_build_object(%s))) ', setting, new_group, key_object) end,
    counter, column_name);
end $attach$;

-- Removes commit order from a table. The numbers stay, and continue if commit order is attached again. It waits for transactions that
-- have written to the table. Only the table's owner may call it.
create or replace function annals.detach_commit_order(target regclass, column_name name) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  schema_name name;
  table_name  name;
begin
  -- Before looking, so that if two sessions detach, the second one finds nothing.
  execute format('lock table %s in access exclusive mode', target);
  -- The trigger's argument says which column it numbers.
  select n.nspname, c.relname into schema_name, table_name
    from pg_trigger t
    join pg_proc p on p.oid = t.tgfoid
    join pg_namespace n on n.oid = p.pronamespace
    join pg_class c on c.relnamespace = n.oid and c.relname = p.proname
    where t.tgrelid = target and t.tgname = 'commit_order'
      and t.tgargs = convert_to(column_name, getdatabaseencoding()) || E'\\x00'::bytea;
  if not found then
    raise undefined_object using
      message = format('%s.%I is not numbered in commit order', target, column_name),
      hint = 'attach_commit_order() makes it so.';
  end if;
  execute format('drop trigger commit_order on %s', target);
  execute format('drop function %I.%I()', schema_name, table_name);
  execute format('drop table %I.%I', schema_name, table_name);
  execute format('drop table %I.%I', schema_name, regexp_replace(table_name, '_commit_order$', '_commit_group'));
end $$;
