-- Reads the next redactions whose events are within a part of the feed, with what they have changed.
--
-- :project_id  uuid
-- :after       bigint   the number of the last redaction before them
-- :through     bigint   the end of that part
-- :seed        bigint   seeds of tiles up to this one
-- :most        integer
--
-- One row: redactions text, a JSON array; count bigint; seeds text, a JSON array of the seeds that they have changed.
with next as materialized (
  select r.number, r.record_id, r.fields, r.event_id, a.redaction, annals.sequence_id(r.project_id, r.record_id, a.placed_with) as place
  from annals.redaction as r
  left join annals.audit_record as a on a.project_id = r.project_id and a.id = r.record_id
  where r.project_id = :project_id and r.number > :after
    and not exists (
      select from annals.audit_record as e
      where e.project_id = r.project_id and e.id = r.event_id
        and annals.sequence_id(e.project_id, e.id, e.placed_with) > :through)
  order by r.number
  limit :most
)
select
  (select coalesce(jsonb_agg(to_jsonb(next) order by number), '[]')::text from next) as redactions,
  (select count(*) from next) as count,
  (select coalesce(jsonb_agg(to_jsonb(s)), '[]')::text from annals.merkle_seed as s
   where s.project_id = :project_id and s.tile <= :seed and s.tile in (select (place - 1) / 256 from next where place is not null)) as seeds
