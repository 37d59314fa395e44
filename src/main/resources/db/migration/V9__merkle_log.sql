-- Each feed as a Merkle log: a projection that hashes each record into a tree, whose root the service signs. So whoever holds
-- an older root can tell whether a record was changed, removed or inserted since, without trust in this database. It is written
-- after the commit: appending pays nothing for it. See docs/leaf-format.md.

-- 256 consecutive hashes each; the last ones of a level, of which there are fewer, are computed when they are needed. Rows are
-- never changed: a rebuild computes them anew and compares.
create table annals.merkle_tile (
  project_id  uuid      not null,
  tile        bigint    not null,
  -- 0 is that of the records.
  level       smallint  not null,
  -- Its root: one of the hashes of a tile of the next level.
  root        bytea     not null,
  -- Level 0: the entries of the records, which the leaves hash. Others: the roots of 256 tiles of the level below.
  hashes      bytea     not null,
  constraint merkle_tile_pkey primary key (project_id, level, tile),
  constraint merkle_tile_size check (octet_length(root) = 32 and octet_length(hashes) = 8192)
);
-- Hashes do not compress.
alter table annals.merkle_tile alter column hashes set storage external;

-- What the salts of 256 records are derived from; tile counts as in merkle_tile. It is random, and no rebuild can bring it back.
create table annals.merkle_seed (
  project_id  uuid    not null,
  tile        bigint  not null,
  -- Once one of the records was redacted (see V10), the seeds of the others instead: 32 bytes for each, zeros where it is gone.
  seed        bytea   not null,
  constraint merkle_seed_pkey primary key (project_id, tile),
  constraint merkle_seed_size check (octet_length(seed) in (32, 8192))
);
alter table annals.merkle_seed alter column seed set storage external;

-- Where a log stands. The service locks the row while it signs, so that no two instances sign trees that differ.
create table annals.merkle_log (
  project_id   uuid    not null,
  -- How many records are in the tree, and the hashes that stand for them: one of 32 bytes for each bit of the size.
  size         bigint  not null default 0,
  frontier     bytea   not null default '',
  epoch        integer not null default 1,
  -- The newest signed note, and of how many records it is; and which database signed it: a restored or promoted one is another.
  signed_size  bigint  not null default 0,
  checkpoint   text,
  incarnation  text,
  -- Why nothing is signed any more.
  halted       text,
  -- The newest note that enough witnesses have cosigned, of how many records it is, and when witnesses were last asked.
  cosigned       text,
  cosigned_size  bigint not null default 0,
  offered_at     timestamptz,
  constraint merkle_log_pkey primary key (project_id),
  constraint merkle_log_project_fkey foreign key (project_id) references annals.project (id),
  constraint merkle_log_frontier check (octet_length(frontier) = 32 * bit_count(size::bit(64))),
  constraint merkle_log_signed check (signed_size >= 0 and (signed_size = 0 or checkpoint is not null)),
  constraint merkle_log_cosigned check (cosigned_size between 0 and signed_size and (cosigned_size = 0 or cosigned is not null))
) with (fillfactor = 50); -- room for the next version of a row on its own page
create index merkle_log_halted_idx on annals.merkle_log (project_id) where halted is not null;

create function annals.refuse_rewound_log() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  raise restrict_violation using
    message = format('the log of project %s cannot go back from %s signed records to %s in epoch %s',
      new.project_id, old.signed_size, new.signed_size, old.epoch);
end $$;
create trigger refuse_rewound_log before update on annals.merkle_log
  for each row
  when (new.epoch < old.epoch or new.epoch = old.epoch and new.signed_size < old.signed_size)
  execute function annals.refuse_rewound_log();

-- The logs that could not be continued, with the last note of each.
create table annals.merkle_epoch (
  project_id  uuid        not null,
  epoch       integer     not null,
  checkpoint  text,
  reason      text        not null,
  ended_at    timestamptz not null default clock_timestamp(),
  constraint merkle_epoch_pkey primary key (project_id, epoch),
  constraint merkle_epoch_project_fkey foreign key (project_id) references annals.project (id)
);

-- What each witness has said of each log last.
create table annals.merkle_witness (
  project_id   uuid    not null,
  -- Its key, as name+id+key.
  witness      text    not null,
  epoch        integer not null,
  -- How many records it has cosigned, and when it did so last.
  size         bigint  not null default 0,
  cosigned_at  timestamptz,
  -- What went wrong since, and before when it is not asked again.
  error        text,
  retry_at     timestamptz,
  constraint merkle_witness_pkey primary key (project_id, witness),
  constraint merkle_witness_project_fkey foreign key (project_id) references annals.project (id),
  constraint merkle_witness_size check (size >= 0),
  constraint merkle_witness_length check (length(witness) <= 1200 and length(error) <= 500)
);

insert into annals.projection (name, step) values ('log', 1);
