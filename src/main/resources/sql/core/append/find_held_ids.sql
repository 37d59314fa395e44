-- Finds the requests with a record whose id an open transaction has inserted.
--
-- :project_id  uuid
-- :request     integer[]   the request of each id, from 1; the ids of one stand together
-- :id          uuid[]
--
-- One row: held uuid[], one id of each such request.
select annals.held_ids(:project_id, :request, :id) as held
