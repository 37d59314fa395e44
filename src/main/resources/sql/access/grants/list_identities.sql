-- Identities that have used a grant, in the order of their ids.
--
-- :after  uuid      the identity before them
-- :most   integer
--
-- Rows: id uuid, issuer text, subject text (null once erased), created_at timestamptz.
select id, issuer, subject, created_at
from annals.identity
where id > :after
order by id limit :most
