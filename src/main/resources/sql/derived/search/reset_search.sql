-- Forgets the next blocks of a project's index.
--
-- :project_id  uuid
-- :after       bigint   the blocks up to this one are forgotten already; null where none is
-- :blocks      integer  how many blocks at most
--
-- One row: last bigint, the last of the blocks; null where there were no more.
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
