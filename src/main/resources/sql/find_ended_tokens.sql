-- Those of some tokens that have expired or were revoked.
--
-- :ids  uuid[]
--
-- Rows: id uuid.
select id from annals.access_token
where id = any (:ids) and (revoked_at is not null or expires_at <= clock_timestamp())
