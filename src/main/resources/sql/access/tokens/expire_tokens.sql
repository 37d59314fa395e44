-- Records expired tokens.
--
-- :most  integer   the largest number
--
-- One row: expired integer.
select annals.expire_tokens(:most) as expired
