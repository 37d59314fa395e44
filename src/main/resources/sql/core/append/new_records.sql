-- The values of new records, one row for each, for the statements that include them. In FROM, PostgreSQL would copy each array into a store
-- first: a tenth of the statement's time.
--
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
-- :recorded_by_token  uuid[]          the token that each record arrived with
unnest(:id::uuid[]) as id,
unnest(:placed_with::uuid[]) as placed_with,
unnest(:timestamp::timestamptz[]) as "timestamp",
unnest(:action::text[]) as action,
unnest(:actor_type::text[]) as actor_type,
unnest(:actor_id::text[]) as actor_id,
unnest(:actor_name::text[]) as actor_name,
unnest(:subject_type::text[]) as subject_type,
unnest(:subject_id::text[]) as subject_id,
unnest(:subject_name::text[]) as subject_name,
unnest(:outcome::text[]) as outcome,
unnest(:ip_address::text[]) as ip_address,
unnest(:message::text[]) as message,
unnest(:metadata::text[]) as metadata,
unnest(:recorded_by_token::uuid[]) as recorded_by_token
