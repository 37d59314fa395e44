-- Makes the tables of the session into which appends and records are copied before they are taken.
--
-- One row.
select annals.stage_arrival()
