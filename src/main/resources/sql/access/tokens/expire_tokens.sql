-- Records that tokens have expired.
--
-- :most  integer   how many, at most
--
-- One row: expired integer.
select annals.expire_tokens(:most) as expired
