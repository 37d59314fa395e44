-- The project annals.
--
-- One row: id uuid.
select annals.administration() as id
