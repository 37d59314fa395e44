-- Appends the records of several requests, each in a subtransaction: a request that cannot be stored keeps none of the
-- others back. Sent alone, it is its own transaction. The records have no numbers.
--
-- :request_first      integer[]       where each request begins in :id, from 1
-- :request_last       integer[]       where each ends in :id
-- :project_id         uuid[]
-- :id                 uuid[]          the records, in their order
-- :placed_with        uuid[]          of each record: its own id, where its append is only this record
-- :timestamp          timestamptz[]
-- :action             text[]
-- :actor_type         text[]          this and the following: elements may be null
-- :actor_id           text[]
-- :actor_name         text[]
-- :subject_type       text[]
-- :subject_id         text[]
-- :subject_name       text[]
-- :outcome            text[]
-- :ip_address         text[]
-- :message            text[]
-- :metadata           text[]          JSON objects
-- :append_id          uuid[]          the appends of more than one record; none has records of two requests
-- :append_first       integer[]       where each begins in :id, from 1
-- :append_last        integer[]       where each ends in :id
-- :recorded_by_token  uuid[]          the token that each record came with
--
-- One row: recorded_at timestamptz, the same for all records. Of the requests that were not stored, in their order:
-- failed integer[], from 1; failed_state text[], the SQLSTATE; failed_constraint text[], elements may be empty. Where
-- the state is 55P03, a transaction that is still open holds the id of one of the records.
select recorded_at, failed, failed_state, failed_constraint
from annals.append_apart(
  :request_first, :request_last, :project_id, :id, :placed_with, :timestamp::timestamptz[],
  :action, :actor_type, :actor_id, :actor_name, :subject_type, :subject_id, :subject_name,
  :outcome, :ip_address, :message, :metadata, :append_id, :append_first, :append_last, :recorded_by_token)
