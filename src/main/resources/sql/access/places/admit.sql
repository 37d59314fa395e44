-- Compares the projects of a restored or promoted database with what others say.
--
-- :own       text     the name of the database
-- :claims    text     a JSON array
-- :set_back  boolean
--
-- One row: suspended uuid[].
select annals.admit(:own, (:claims::text)::jsonb, :set_back) as suspended
