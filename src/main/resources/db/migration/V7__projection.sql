-- Projections: what is derived from feeds, record by record in sequence order. Each has one checkpoint per project, written
-- in one transaction with its state, so that every record counts once. Each can be rebuilt at any time.

create table annals.projection (
  name        text    not null,
  -- A rebuild raises it: a project whose checkpoint is of an older generation begins again at its first record.
  generation  integer not null default 1,
  -- How many records it takes in at a time; it waits until there are that many.
  step        integer not null,
  constraint projection_pkey primary key (name),
  constraint projection_step check (step >= 1)
);

create table annals.projection_checkpoint (
  project_id   uuid    not null,
  projection   text    not null,
  -- All records up to this one have been taken in.
  sequence_id  bigint  not null,
  generation   integer not null,
  -- annals.projection_mark() of the server that began this state. Where that is another one, it begins again, too.
  mark         text,
  constraint projection_checkpoint_pkey primary key (project_id, projection),
  constraint projection_checkpoint_project_fkey foreign key (project_id) references annals.project (id),
  constraint projection_checkpoint_projection_fkey foreign key (projection) references annals.projection (name),
  constraint projection_checkpoint_range check (sequence_id >= 0)
) with (fillfactor = 50); -- room for the next version of a row on its own page

-- How many records there are by UTC day of their timestamp, action and outcome; and again by day, action, actor and outcome. Each of
-- both has a limit of its own, so that actors that somebody makes up take no place from actions.
create table annals.daily_count (
  project_id    uuid          not null,
  record_count  bigint        not null,
  day           date          not null,
  by_actor      boolean       not null,
  -- SHA-256 of action, actor and outcome, which together may be too long for an index.
  key           bytea         not null,
  -- null: the records of further combinations, on a day that has as many as it may have
  action        varchar(255),
  -- its id, otherwise its name
  actor         varchar(1024),
  outcome       varchar(64),
  constraint daily_count_pkey primary key (project_id, by_actor, day, key),
  constraint daily_count_actor check (by_actor or actor is null)
) with (fillfactor = 80);

-- The same by day alone, and how many combinations the day has: without actors, and with them.
create table annals.daily_total (
  project_id               uuid    not null,
  record_count             bigint  not null,
  day                      date    not null,
  combination_count        integer not null,
  actor_combination_count  integer not null,
  constraint daily_total_pkey primary key (project_id, day)
) with (fillfactor = 50);

create function annals.combination_key(action text, actor text, outcome text) returns bytea
language sql immutable parallel safe
return sha256(convert_to(jsonb_build_array(action, actor, outcome)::text, 'UTF8'));

insert into annals.projection (name, step) values ('statistics', 1);
