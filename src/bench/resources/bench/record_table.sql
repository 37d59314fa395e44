-- The table of a variant, in the schema that is first in the search path: Annals' columns, defaults and checks, and a
-- sequence id. Checks are no part of ordering, so all variants bear the same.
create table audit_record (like annals.audit_record including defaults including constraints, sequence_id bigint);
alter table audit_record drop column placed_with;
alter table audit_record add primary key (project_id, id);
create unique index on audit_record (project_id, sequence_id);
