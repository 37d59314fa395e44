-- Counts halted logs, up to 1,000.
--
-- One row: halted bigint.
select count(*) as halted from (select from annals.merkle_log where halted is not null limit 1000) as log
