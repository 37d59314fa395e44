-- Moves in home that no instance carries, the oldest first.
--
-- :databases  text[]   only between these
-- :except     uuid[]   not these
-- :most       integer
--
-- Rows: id uuid, project_id uuid, target text.
select id, project_id, target from annals.move
where ended_at is null and coalesce(leased_until < clock_timestamp(), true)
  and source = any (:databases) and target = any (:databases) and id <> all (:except)
order by started_at limit :most
