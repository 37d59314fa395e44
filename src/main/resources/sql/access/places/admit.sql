-- Compares the projects of a restored or promoted database with what others say.
--
-- :own       text     the name of the database
-- :claims    text     a JSON array of what read_claims.sql returned
-- :set_back  boolean
--
-- One row: suspended uuid[].
select annals.admit(:own, jsonb_path_query_array((:claims::text)::jsonb, '$[*][*]'), :set_back) as suspended
