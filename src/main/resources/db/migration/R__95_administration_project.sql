-- The project annals. Its first event says that it was created. Flyway would print the result of a query.
do $$
begin
  if annals.administration() is null then
    perform annals.create_project('annals');
  end if;
end $$;
