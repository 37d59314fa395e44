-- How projects, tokens, grants and holds differ from what their events say: see R__45_administration.sql.
--
-- Rows: finding text.
select finding from annals.administration_differences()
