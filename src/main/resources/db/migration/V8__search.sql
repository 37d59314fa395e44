-- The search index: a projection that notes, for each 1,024 consecutive places of a feed, which values the records there
-- have. It is written after the commit, so appending pays nothing for it. A page finds the blocks that may have what it
-- looks for, and looks at their records, and at the records that are not in any block yet.

-- The words of a text: what stands between white space and punctuation, in lower case. Most separators are single
-- spaces, which string_to_array() finds without the regular expression: each match of that costs as much as all else about
-- a word.
create function annals.words(content text) returns text[]
language sql immutable parallel safe
return array_remove(
  string_to_array(
    lower(regexp_replace(content,
      '[\t-\r!"#$%&''()*+,./:;<=>?@\[\\\]^_`{|}~\u0085\u00a0\u00a1\u00ab\u00bb\u00bf\u2010-\u2027\u2028-\u202f\u2039\u203a\u2e3a\u2e3b\u3000-\u3002\u300c-\u300f-]+',
      ' ', 'g')),
    ' '),
  '');

-- A value of a field, in any case, as a number of 32 bits. If two values share one, that costs a useless look and nothing else.
-- Fields: 1 action, 2 actor (id or name), 3 subject (id or name), 4 outcome, 5 IP address, 6 a word of the message, 7 any word at
-- all, 8 who recorded it.
create function annals.search_key(project_id uuid, field integer, value text) returns integer
language sql immutable parallel safe
return (hashtextextended(case when field = 6 then value else lower(value) end, uuid_hash_extended(project_id, field)) >> 32)::integer;

-- A key in the index. Each stretch of 1,048,576 consecutive places has a number, 16 bits wide. So the index is asked about one
-- stretch after the other, in feed order, however many blocks of the whole feed have a value; and it grows in few places.
create function annals.search_entry(stretch bigint, key integer) returns bigint
language sql immutable parallel safe
return (stretch & 65535) << 32 | (key::bigint & 4294967295);

create function annals.search_entries(block bigint, keys integer[]) returns bigint[]
language sql immutable parallel safe
return array(select annals.search_entry(block >> 10, key) from unnest(keys) as key);

create table annals.search_block (
  project_id       uuid        not null,
  -- It covers the places block * 1024 + 1 to block * 1024 + 1024.
  block            bigint      not null,
  first_timestamp  timestamptz not null,
  last_timestamp   timestamptz not null,
  -- search_key() of all values in it, in rising order.
  keys             integer[]   not null,
  -- For each key, in their order: its only place in the block, 0 to 1023; or below 0 where it has more: the number of its slices in
  -- masks, negated. Most values of a block are in one record alone, and a page looks at that record and at no other.
  places           smallint[]  not null,
  -- Of the keys that have more than one place, in their order: a bit for every 16 places, from the lowest on, that hold it.
  masks            bigint[]    not null,
  constraint search_block_pkey primary key (project_id, block) include (first_timestamp, last_timestamp),
  constraint search_block_places check (cardinality(places) = cardinality(keys))
);
-- Hash values do not compress, and a page reads the rest for each block: decompressing costs more than it would save. Stored out of
-- line, they keep rows small.
alter table annals.search_block
  alter column keys set storage external,
  alter column places set storage external,
  alter column masks set storage external;
-- Each block has thousands of keys at once: a pending list would only have to be searched, too.
create index search_block_keys_idx on annals.search_block using gin (annals.search_entries(block, keys)) with (fastupdate = off);

insert into annals.projection (name, step) values ('search', 1024);
