-- Whether nobody has made a project or a token yet.
--
-- One row: is_new boolean.
select not exists (select from annals.access_token)
  and not exists (select from annals.project where name <> 'annals') as is_new
