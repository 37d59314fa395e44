-- Draws values of one of PostgreSQL's own sequences.
--
-- :id     uuid
-- :count  integer
--
-- As many rows as :count says, in the order drawn: value bigint.
select nextval(annals.native_sequence_name(:id)::regclass) as value
from generate_series(1, :count)
