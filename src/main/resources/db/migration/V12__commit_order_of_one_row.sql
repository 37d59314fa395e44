-- COMMIT_ORDERED at less cost for what most transactions are, an insert of one row, and its way back:
-- annals.detach_commit_order(). Tables that were attached before go on as they are; detached and attached again, they
-- gain as well.

-- Notes a row that waits for its number at commit. Called in the WHEN of a trigger, as annals.note_numbered_row() is. The
-- first row of a transaction is only remembered, in annals.commit_row; with the second they are counted (then it is *).
-- Without a search path of its own, since to set and restore one costs as much as the rest: it runs as whoever inserts.
create function annals.note_commit_row(setting text, group_key text) returns boolean
language plpgsql
as $$
declare
  noted pg_catalog.text := pg_catalog.current_setting('annals.commit_row', true);
begin
  if noted is null or pg_catalog.texteq(noted, '') then
    perform pg_catalog.set_config('annals.commit_row', pg_catalog.concat(setting, ' ', group_key), true);
    return true;
  end if;
  if pg_catalog.texteq(noted, '*') then
    return annals.note_numbered_row(setting, group_key);
  end if;
  perform pg_catalog.set_config('annals.commit_row', '*', true);
  perform annals.note_numbered_row(pg_catalog.split_part(noted, ' ', 1),
    pg_catalog.substr(noted, pg_catalog.int4pl(pg_catalog.strpos(noted, ' '), 1)));
  return annals.note_numbered_row(setting, group_key);
end $$;

-- As in V10, but the one row of a transaction is numbered without being counted.
create or replace function annals.attach_commit_order(target regclass, column_name name, group_column name default null) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $attach$
declare
  schema_name  name;
  table_name   name;
  counter      text;
  keys         text;
  group_value  text := case when group_column is null then '''''::text' else format('coalesce(new.%I::text, '''')', group_column) end;
  setting      text := 'annals.commit_' || left(replace(gen_random_uuid()::text, '-', ''), 16);
  stray        boolean;
begin
  select n.nspname, c.relname into schema_name, table_name
    from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = target;
  select string_agg(format('%1$s.%2$I = new.%2$I', target, a.attname), ' and ') into keys
    from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
    where i.indrelid = target and i.indisprimary;
  if keys is null then
    raise invalid_table_definition using message = format('table %s has no primary key', target);
  end if;
  perform from pg_attribute
    where attrelid = target and attname = column_name and atttypid = 'bigint'::regtype and not attnotnull and attnum > 0;
  if not found then
    raise invalid_column_definition using
      message = format('%s has no column %I that is a bigint and may be null', target, column_name);
  end if;
  counter := format('%I.%I', schema_name, table_name || '_commit_order');

  execute format('lock table %s in share row exclusive mode', target);
  execute format('select exists (select from %s where %I is null)', target, column_name) into stray;
  if stray then
    raise object_not_in_prerequisite_state using
      message = format('%s has rows without a number in %I', target, column_name),
      hint = 'Number them first.';
  end if;
  execute format($sql$
    create table %1$s (
      group_key text not null primary key,
      last_value bigint not null
    ) with (fillfactor = 10)
    $sql$, counter);
  execute format('insert into %1$s select %2$s, max(new.%3$I) from %4$s new group by 1', counter, group_value, column_name, target);

  execute format($sql$
    create or replace function %1$s() returns trigger
    language plpgsql security definer set search_path = pg_catalog, pg_temp
    as $trigger$
    declare
      noted    text := current_setting('annals.commit_row', true);
      pending  integer;
      locks    text;
      state    text;
      this     text := %2$s;
      at_group text;
      head     bigint;
      lock_key bigint;
    begin
      -- The one row of its transaction, as most are: all in one statement.
      if noted <> '' and noted <> '*' and coalesce(current_setting(%4$L, true), '') in ('', '0') then
        perform set_config('annals.commit_row', '', true);
        with counter as (
          update %1$s set last_value = last_value + 1 where group_key = this returning last_value
        )
        update %6$s set %7$I = counter.last_value from counter where %3$s;
        if found then
          return null;
        end if;
        -- The first row of its group, or one that was deleted again.
        perform from %6$s where %3$s;
        if found then
          insert into %1$s as c values (this, 1)
            on conflict (group_key) do update set last_value = c.last_value + 1
            returning last_value into head;
          update %6$s set %7$I = head where %3$s;
        else
          update %1$s set last_value = last_value - 1 where group_key = this;
        end if;
        return null;
      end if;

      state := current_setting(%5$L, true);
      pending := current_setting(%4$L)::integer - 1;
      locks := current_setting('annals.commit_locks', true);
      if locks like '%%,%%,%%' then
        for lock_key in select k::bigint from unnest(string_to_array(rtrim(locks, ','), ',')) k order by 1 loop
          perform pg_advisory_xact_lock(lock_key);
        end loop;
      end if;
      if locks <> '' then
        perform set_config('annals.commit_locks', '', true);
      end if;
      perform set_config(%4$L, pending::text, true);

      if state <> '' then
        head := split_part(state, ':', 1)::bigint;
        at_group := substr(state, strpos(state, ':') + 1);
        if at_group <> this then
          update %1$s set last_value = head where group_key = at_group;
          at_group := null;
        end if;
      end if;

      if at_group is null then
        update %1$s set last_value = last_value + 1 where group_key = this returning last_value into head;
        if not found then
          insert into %1$s as c values (this, 1)
            on conflict (group_key) do update set last_value = c.last_value + 1
            returning last_value into head;
        end if;
        update %6$s set %7$I = head where %3$s;
        if not found then
          head := head - 1;
          update %1$s set last_value = head where group_key = this;
        end if;
        if pending > 0 then
          perform set_config(%5$L, head || ':' || this, true);
        elsif state <> '' then
          perform set_config(%5$L, '', true);
        end if;
        return null;
      end if;

      update %6$s set %7$I = head + 1 where %3$s;
      if found then
        head := head + 1;
      end if;
      if pending = 0 then
        update %1$s set last_value = head where group_key = this;
        perform set_config(%5$L, '', true);
      else
        perform set_config(%5$L, head || ':' || this, true);
      end if;
      return null;
    end $trigger$
    $sql$, counter, group_value, keys, setting, setting || '_at', target, column_name);

  -- With it anybody could number rows of this table from a table of their own. Triggers that are there need no right.
  execute format('revoke all on function %s() from public', counter);
  execute format($sql$
    create constraint trigger commit_order after insert on %1$s deferrable initially deferred
    for each row when (annals.note_commit_row(%3$L, %4$s))
    execute function %2$s()
    $sql$, target, counter, setting, group_value);
end $attach$;

-- Takes commit order off a table again: the trigger, its function and its counters. The numbers stay, and attached again
-- the table goes on from them. It waits for the transactions that have written to the table, and those behind it wait for
-- it. Only the table's owner may do so.
create function annals.detach_commit_order(target regclass, column_name name) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  counter text;
begin
  -- Before it looks, so that of two who detach the second one finds nothing.
  execute format('lock table %s in access exclusive mode', target);
  -- The function says which column it numbers.
  select format('%I.%I', n.nspname, p.proname) into counter
    from pg_trigger t
    join pg_proc p on p.oid = t.tgfoid
    join pg_namespace n on n.oid = p.pronamespace
    where t.tgrelid = target and t.tgname = 'commit_order'
      and strpos(p.prosrc, format('update %s set %I = head where', target, column_name)) > 0;
  if counter is null then
    raise undefined_object using
      message = format('%s.%I is not numbered in commit order', target, column_name),
      hint = 'attach_commit_order() makes it so.';
  end if;
  execute format('drop trigger commit_order on %s', target);
  execute format('drop function %s()', counter);
  execute format('drop table %s', counter);
end $$;

do $$
declare
  attached regprocedure;
begin
  for attached in select distinct tgfoid from pg_trigger where tgname = 'commit_order' and not tgisinternal loop
    execute format('revoke all on function %s from public', attached);
  end loop;
end $$;

-- Least privilege, as in V10. annals.note_commit_row() stays everybody's.
revoke all on function annals.detach_commit_order(regclass, name) from public;
grant execute on function annals.detach_commit_order(regclass, name) to annals_writer, annals_service;
