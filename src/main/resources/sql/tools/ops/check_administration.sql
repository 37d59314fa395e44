-- The differences between projects, tokens, grants and holds and their events: see R__45_administration.sql.
--
-- Rows: finding text.
select finding from annals.administration_differences()
