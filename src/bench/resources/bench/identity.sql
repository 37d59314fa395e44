-- No order: ids are handed out when they are asked for, not when they are committed. The limit.
alter table audit_record alter column sequence_id set not null;
alter table audit_record alter column sequence_id add generated always as identity;
