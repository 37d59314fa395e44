-- Flyway runs this in the transaction of each migration. PostgreSQL lets every role execute a new function: take that back, except for
-- what writers of tables in commit order call. (ALTER DEFAULT PRIVILEGES cannot take it back for one schema.)
do $$
declare
  made regprocedure;
begin
  for made in
    select oid from pg_catalog.pg_proc where pronamespace = 'annals'::regnamespace and proacl is null and proname <> 'note_commit_row'
  loop
    execute format('revoke all on function %s from public', made);
  end loop;
end $$;
