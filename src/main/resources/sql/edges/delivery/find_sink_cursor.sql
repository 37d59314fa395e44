-- In the database of a PostgreSQL sink: reads and locks the cursor of a stream. Other instances wait until the transaction ends.
--
-- :stream_id   uuid
-- :project_id  uuid     of the feed
-- :rewinds     integer  the number of rewinds of the stream
-- :cursor      text     the service's own cursor, which counts if the sink has none of this rewind
--
-- One row: rewinds integer, cursor text.
insert into annals_cursor as known (stream_id, project_id, rewinds, cursor)
values (:stream_id, :project_id, :rewinds, :cursor)
on conflict (stream_id, project_id) do update
set cursor = case when known.rewinds < excluded.rewinds then excluded.cursor else known.cursor end,
  rewinds = greatest(known.rewinds, excluded.rewinds)
returning known.rewinds, known.cursor
