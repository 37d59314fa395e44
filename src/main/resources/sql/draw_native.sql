-- Draws values of one of PostgreSQL's own sequences.
--
-- $1 id     uuid
-- $2 count  integer
--
-- $2 rows, in the order drawn: bigint.
select nextval(annals.native_sequence_name($1)::regclass)
from generate_series(1, $2)
