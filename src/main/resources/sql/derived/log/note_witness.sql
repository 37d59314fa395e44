-- Notes what a witness has said of a log. What it said of an earlier epoch is forgotten.
--
-- :project_id   uuid
-- :witness      text         its key
-- :epoch        integer
-- :size         bigint       what it has cosigned; null if it has not
-- :cosigned_at  timestamptz  when; null if it has not
-- :error        text         why it has not; null if it has
-- :retry        float8       in how many seconds it may be asked again; null for at once
insert into annals.merkle_witness as known (project_id, witness, epoch, size, cosigned_at, error, retry_at)
values (:project_id, :witness, :epoch, coalesce(:size::bigint, 0), :cosigned_at::timestamptz, :error::text,
  clock_timestamp() + make_interval(secs => :retry::float8))
on conflict (project_id, witness) do update
set epoch = excluded.epoch, error = excluded.error, retry_at = excluded.retry_at,
  size = case when known.epoch = excluded.epoch then greatest(known.size, excluded.size) else excluded.size end,
  cosigned_at = case when known.epoch = excluded.epoch then coalesce(excluded.cosigned_at, known.cosigned_at)
    else excluded.cosigned_at end
where known.epoch <= excluded.epoch
