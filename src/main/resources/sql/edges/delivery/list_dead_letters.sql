-- Records that a stream has skipped because the sink refused them.
--
-- :stream_id   uuid
-- :project_id  uuid     of the feed
-- :after       bigint   only after this sequence id
-- :most        integer  the most rows
--
-- Rows in the order of the feed: sequence_id bigint, record_id uuid, reason text, refused_at timestamptz.
select d.sequence_id, d.record_id, d.reason, d.refused_at
from annals.stream_dead_letter as d
where d.stream_id = :stream_id and d.project_id = :project_id and d.sequence_id > :after
order by d.sequence_id
limit :most
