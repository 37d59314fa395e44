-- Notes that an identity uses some grants, with an event for each that it has not used before.
--
-- :issuer     text
-- :subject    text
-- :grant_ids  uuid[]
-- :address    text     of the caller
select annals.enter_identity(:issuer, :subject, :grant_ids, (:address::text)::inet)
