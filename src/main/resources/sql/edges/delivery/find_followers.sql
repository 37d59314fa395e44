-- In home: the streams of all projects.
--
-- One row: exist boolean; streams bigint, another number once a stream was added or removed.
select count(*) > 0 as exist, coalesce(bit_xor(hashtextextended(id::text, 0)), 0) as streams from annals.stream where all_projects
