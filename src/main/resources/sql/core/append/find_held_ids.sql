-- Which requests have to wait because a transaction that is still open has inserted the id of one of their records.
--
-- :project_id  uuid
-- :request     integer[]   of each id: which request it belongs to; the ids of one stand together
-- :id          uuid[]
--
-- One row: held uuid[], one id of each such request.
select annals.held_ids(:project_id, :request, :id) as held
