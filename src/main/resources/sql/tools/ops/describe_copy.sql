-- Whether a database can be copied, and be copied to.
--
-- One row: schema text, equal in databases with the same schema; unused boolean, whether no service has used it; natives bigint, the
-- sequences of PostgreSQL's own that its projects have; appends bigint, the next number of a shared append; incarnation text.
select
  (select md5(string_agg(newest.script || ' ' || coalesce(newest.checksum, 0), ',' order by newest.script))
    from (select distinct on (script) script, checksum from annals.flyway_schema_history where success order by script, installed_rank desc)
      as newest) as schema,
  not exists (select from annals.access_token) and not annals.is_member()
    and (select count(*) = 1 from annals.project) as unused,
  (select count(*) from annals.sequence as s join annals.project as p on p.id = s.project_id
    where s.kind in ('NATIVE', 'BIT_REVERSED') and s.deleted_at is null and p.placement <> 'gone') as natives,
  (select last_value from annals.shared_append_number) as appends,
  annals.incarnation() as incarnation
