-- How projects, tokens, grants and holds differ from what their events say: see V11__administration.sql.
--
-- Rows: finding text.
select finding from annals.administration_differences()
