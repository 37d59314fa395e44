-- Records that an identity uses grants, with an event for each one that it has not used before.
--
-- :issuer     text
-- :subject    text
-- :grant_ids  uuid[]
-- :address    text     of the caller
select annals.enter_identity(:issuer, :subject, :grant_ids, (:address::text)::inet)
