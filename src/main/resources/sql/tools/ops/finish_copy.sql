-- Takes over the logs that the other database has signed, and its numbers.
--
-- :incarnation  text    of the other database
-- :appends      bigint  its next number of a shared append
--
-- One row.
with taken as (
  update annals.merkle_log set incarnation = annals.incarnation() where incarnation = :incarnation returning project_id
)
select count(*) as logs, setval('annals.shared_append_number', :appends, true) as appends from taken
