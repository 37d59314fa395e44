-- In the database of a PostgreSQL sink: where a stream stands there. Whoever else asks waits until the transaction ends.
--
-- :stream_id   uuid
-- :project_id  uuid     whose feed
-- :rewinds     integer  how often the stream was set to another place
-- :cursor      text     where it stands as the service knows it: that counts where the sink knows nothing newer
--
-- One row: rewinds integer, cursor text.
insert into annals_cursor as known (stream_id, project_id, rewinds, cursor)
values (:stream_id, :project_id, :rewinds, :cursor)
on conflict (stream_id, project_id) do update
set cursor = case when known.rewinds < excluded.rewinds then excluded.cursor else known.cursor end,
  rewinds = greatest(known.rewinds, excluded.rewinds)
returning known.rewinds, known.cursor
