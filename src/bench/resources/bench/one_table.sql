-- The schema of the one table that pages are compared with; record_table.sql makes the table in it.
create schema one_table;
set search_path = one_table;
