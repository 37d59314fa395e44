-- Compares the projects of a restored or promoted database with what others say.
--
-- :own       text     the name of the database
-- :claims    text     a JSON array: see annals.counter_claims()
-- :marks     text     a JSON array: see annals.admit()
-- :set_back  boolean
--
-- One row: suspended uuid[].
select annals.admit(:own, (:claims::text)::jsonb, (:marks::text)::jsonb, :set_back) as suspended
