-- No number twice. A record without a number has no entry here. Apart from V11, so that a table with many records can be
-- read while this looks at all of them: writers wait for it, readers do not.
create unique index audit_record_number_key on annals.audit_record (project_id, number_sequence, number_value)
  where number_value is not null;
