-- Reads how much of the redactions and of the tree a database has.
--
-- :project_id  uuid
--
-- One row: redactions bigint; seed bigint, the last tile with a seed, or -1; tiles bigint[], the last tile of each level from 0 on.
select
  coalesce((select max(number) from annals.redaction where project_id = :project_id), 0) as redactions,
  coalesce((select max(tile) from annals.merkle_seed where project_id = :project_id), -1) as seed,
  array(
    select coalesce((select max(tile) from annals.merkle_tile as t where t.project_id = :project_id and t.level = of.level), -1)
    from generate_series(0, 7) as of (level) order by of.level) as tiles
