-- Deletes the next blocks of a project's index.
--
-- :project_id  uuid
-- :after       bigint   the last block that is already deleted; null: none
-- :blocks      integer  the most blocks
--
-- One row: last bigint, the last of the blocks; null if none was left.
with slice as materialized (
  select block from annals.search_block
  where project_id = :project_id and block > coalesce(:after::bigint, -1)
  order by block
  limit :blocks
), forgotten as (
  delete from annals.search_block
  where project_id = :project_id and block > coalesce(:after::bigint, -1) and block <= (select max(block) from slice)
)
select max(block) as last from slice
