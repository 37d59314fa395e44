-- Verification in the background: up to where each feed was verified, and what was found. All instances take turns.

create table annals.verification (
  project_id   uuid         not null,
  -- The records up to this one were verified in this round.
  sequence_id  bigint       not null default 0,
  round_at     timestamptz  not null default clock_timestamp(),
  -- Findings in this round, and in the one before it.
  found        integer      not null default 0,
  found_before integer      not null default 0,
  -- When the next stretch is to be verified. Whoever takes it moves this on first, so that nobody else does.
  due_at       timestamptz  not null default clock_timestamp(),
  constraint verification_pkey primary key (project_id),
  constraint verification_project_fkey foreign key (project_id) references annals.project (id),
  constraint verification_range check (sequence_id >= 0 and found >= 0 and found_before >= 0)
) with (fillfactor = 50); -- room for the next version of a row on its own page
create index verification_due_idx on annals.verification (due_at);
