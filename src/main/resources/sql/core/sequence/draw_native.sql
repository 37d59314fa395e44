-- Draws values of one of PostgreSQL's own sequences.
--
-- :id     uuid
-- :count  integer
--
-- As many rows as :count says, in the order drawn: value bigint.
select value from annals.draw_native(:id, :count) as value
