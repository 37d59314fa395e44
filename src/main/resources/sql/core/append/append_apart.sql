-- Appends the records of several requests, each request in a subtransaction: one that cannot be stored does not stop the others. Sent
-- alone, it is its own transaction. The records have no numbers.
--
-- :request_first      integer[]       the index in :id of the first record of each request, from 1
-- :request_last       integer[]       the index of its last record
-- :project_id         uuid[]
-- :id                 uuid[]          the records, in their order
-- :placed_with        uuid[]          the append of each record: its own id, if it is the only one
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
-- :append_first       integer[]       the index in :id of the first record of each, from 1
-- :append_last        integer[]       the index of its last record
-- :recorded_by_token  uuid[]          the token that each record arrived with
--
-- One row: recorded_at timestamptz, the same for all records; failed integer[], the indexes from 1 of the requests that were not stored;
-- failed_state text[], their SQLSTATE; failed_constraint text[], elements may be empty. The state 55P03 says that a transaction that is
-- still open holds the id of a record.
select recorded_at, failed, failed_state, failed_constraint
from annals.append_apart(
  :request_first, :request_last, :project_id, :id, :placed_with, :timestamp::timestamptz[],
  :action, :actor_type, :actor_id, :actor_name, :subject_type, :subject_id, :subject_name,
  :outcome, :ip_address, :message, :metadata, :append_id, :append_first, :append_last, :recorded_by_token)
