-- Reads the next seeds.
--
-- :project_id  uuid
-- :tile        bigint   the seeds behind this tile
-- :most        integer
--
-- One row: seeds text, a JSON array; last bigint, the tile of the last one, null without any.
select coalesce(jsonb_agg(to_jsonb(s)), '[]')::text as seeds, max(s.tile) as last
from (select * from annals.merkle_seed where project_id = :project_id and tile > :tile order by tile limit :most) as s
