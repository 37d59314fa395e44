-- Claims logs that have grown since their witnesses cosigned them, among the next logs by project id. Other instances do not offer them
-- at the same time.
--
-- :after      uuid     the last project of the part before; null: begin at the first
-- :logs       integer  the most logs of the part
-- :witnesses  text[]   the keys of the witnesses that can be asked
-- :seconds    float8   skip logs that were offered less than so long ago
--
-- One row per claimed log: project_id uuid, is_last false. And one row with is_last true: project_id, the last one of the part; null if no
-- log follows it.
with part as materialized (
  select project_id from annals.merkle_log
  where project_id > coalesce(:after::uuid, '00000000-0000-0000-0000-000000000000')
  order by project_id
  limit :logs
), due as (
  select log.project_id from annals.merkle_log as log
  where log.project_id in (select part.project_id from part join annals.project on project.id = part.project_id and placement = 'here')
    and log.halted is null
    and coalesce(log.offered_at < clock_timestamp() - make_interval(secs => :seconds::float8), true)
    and exists (
      select from unnest(:witnesses::text[]) as asked (witness)
      left join annals.merkle_witness as known on known.project_id = log.project_id and known.witness = asked.witness
      where known.witness is null
        or known.epoch < log.epoch
        or known.size < log.size and coalesce(known.retry_at < clock_timestamp(), true))
  for update of log skip locked
), claimed as (
  update annals.merkle_log as log set offered_at = clock_timestamp()
  from due where log.project_id = due.project_id
  returning log.project_id
)
select project_id, false as is_last from claimed
union all
select case when (select count(*) from part) = :logs then (select project_id from part order by project_id desc limit 1) end, true
