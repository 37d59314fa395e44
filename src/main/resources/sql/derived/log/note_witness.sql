-- Stores the answer of a witness about a log. It replaces answers about an earlier epoch.
--
-- :project_id   uuid
-- :witness      text         its key
-- :epoch        integer
-- :size         bigint       the size that it has cosigned; null if it did not
-- :cosigned_at  timestamptz  null if it did not
-- :error        text         null if it did
-- :retry        float8       seconds until the log may be offered again; null: at once
insert into annals.merkle_witness as known (project_id, witness, epoch, size, cosigned_at, error, retry_at)
values (:project_id, :witness, :epoch, coalesce(:size::bigint, 0), :cosigned_at::timestamptz, :error::text,
  clock_timestamp() + make_interval(secs => :retry::float8))
on conflict (project_id, witness) do update
set epoch = excluded.epoch, error = excluded.error, retry_at = excluded.retry_at,
  size = case when known.epoch = excluded.epoch then greatest(known.size, excluded.size) else excluded.size end,
  cosigned_at = case when known.epoch = excluded.epoch then coalesce(excluded.cosigned_at, known.cosigned_at)
    else excluded.cosigned_at end
where known.epoch <= excluded.epoch
