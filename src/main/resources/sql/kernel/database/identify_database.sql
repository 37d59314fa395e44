-- Which database this is.
--
-- One row: id uuid, of its project annals; name text, as its home names it, null if it is no member.
select annals.administration() as id, (select name from annals.database where id = annals.administration()) as name
