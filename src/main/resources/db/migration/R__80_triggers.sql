-- All triggers. They have a file of their own because creating a trigger locks its table against writers: an edit of a function does
-- not, an edit of this file does.

-- The conditions are short, because PostgreSQL parses them for every statement: 1,000 characters of a parsed condition cost a tenth of
-- an INSERT.
create or replace trigger complete_record before insert on annals.audit_record
  for each row when (new.placed_with = '00000000-0000-0000-0000-000000000000')
  execute function annals.complete_record();

create or replace trigger gather_append
  after insert on annals.audit_record
  referencing new table as inserted
  for each statement
  execute function annals.gather_append();

drop trigger if exists place_segment on annals.audit_record;
create constraint trigger place_segment
  after insert on annals.audit_record
  deferrable initially deferred
  for each row when (new.placed_with = new.id)
  execute function annals.place_segment();

drop trigger if exists place_segment on annals.append;
create constraint trigger place_segment
  after insert on annals.append
  deferrable initially deferred
  for each row
  execute function annals.place_segment();

create or replace trigger append_only before truncate on annals.audit_record
  for each statement execute function annals.refuse_change();

create or replace trigger append_only_but_redactions before update on annals.audit_record
  for each row execute function annals.refuse_other_change();

create or replace trigger append_only_but_retention after delete on annals.audit_record
  referencing old table as gone
  for each statement execute function annals.refuse_other_removal();

create or replace trigger append_only before update or truncate on annals.append
  for each statement execute function annals.refuse_change();

create or replace trigger append_only_but_retention after delete on annals.append
  referencing old table as gone
  for each statement execute function annals.refuse_other_removal();

create or replace trigger append_only before update or truncate on annals.feed_segment
  for each statement execute function annals.refuse_change();

create or replace trigger append_only_but_retention after delete on annals.feed_segment
  referencing old table as gone
  for each statement execute function annals.refuse_other_removal();

create or replace trigger keep_native_sequence
  after insert or update of deleted_at or delete on annals.sequence
  for each row execute function annals.keep_native_sequence();

create or replace trigger refuse_rewound_log before update on annals.merkle_log
  for each row
  when (new.epoch < old.epoch or new.epoch = old.epoch and new.signed_size < old.signed_size)
  execute function annals.refuse_rewound_log();

create or replace trigger refuse_resumed_archive before update on annals.merkle_log
  for each row when (new.halted is null and old.halted is not null)
  execute function annals.refuse_resumed_archive();

create or replace trigger append_only before update or truncate on annals.redaction
  for each statement execute function annals.refuse_change();

create or replace trigger append_only_but_copies after delete on annals.redaction
  referencing old table as gone
  for each statement execute function annals.refuse_removal_here();

create or replace trigger refuse_rewound_horizon before update on annals.feed_horizon
  for each row
  when (new.project_id <> old.project_id or new.sequence_id < old.sequence_id)
  execute function annals.refuse_rewound_horizon();

create or replace trigger append_only_but_copies after delete on annals.feed_horizon
  referencing old table as gone
  for each statement execute function annals.refuse_removal_here();

create or replace trigger append_only before truncate on annals.feed_horizon
  for each statement execute function annals.refuse_change();

create or replace trigger append_only before update or truncate on annals.archive
  for each statement execute function annals.refuse_change();

create or replace trigger append_only_but_copies after delete on annals.archive
  referencing old table as gone
  for each statement execute function annals.refuse_removal_here();

create or replace trigger append_only before update or delete or truncate on annals.restored_archive
  for each statement execute function annals.refuse_change();

create or replace trigger project_followed after insert on annals.project
for each row execute function annals.follow_project();

-- What a project has changes only where the project is.
create or replace trigger require_here before insert or update or delete on annals.sequence
  for each row execute function annals.require_here();

create or replace trigger require_here before insert or update or delete on annals.sequence_series
  for each row execute function annals.require_here();

create or replace trigger require_here before insert or update or delete on annals.legal_hold
  for each row execute function annals.require_here();

create or replace trigger require_here before insert or update or delete on annals.feed_horizon
  for each row execute function annals.require_here();

create or replace trigger require_here before insert or update or delete on annals.archive
  for each row execute function annals.require_here();

create or replace trigger require_here before insert or update or delete on annals.stream
  for each row execute function annals.require_here();

create or replace trigger require_here before insert or update or delete on annals.alert
  for each row execute function annals.require_here();

create or replace trigger require_here before insert or update or delete on annals.saved_view
  for each row execute function annals.require_here();

create or replace trigger require_here before insert or update or delete on annals.writer_grant
  for each row execute function annals.require_here();

create or replace trigger require_here before insert or update or delete on annals.merkle_log
  for each row execute function annals.require_here();

create or replace trigger require_here before insert or update or delete on annals.merkle_epoch
  for each row execute function annals.require_here();

create or replace trigger require_here before insert or update or delete on annals.merkle_witness
  for each row execute function annals.require_here();

create or replace trigger require_here before insert or update or delete on annals.redaction
  for each row execute function annals.require_here();

create or replace trigger require_here before insert or update or delete on annals.projection_checkpoint
  for each row execute function annals.require_here();

create or replace trigger require_here before update on annals.stream_progress
  for each row when (new.leased_by is not null and new.epoch > old.epoch) execute function annals.require_here();

create or replace trigger refuse_change_of_sealed before update on annals.project
  for each row
  when (old.placement = 'sealed'
    and (old.name <> new.name or old.closed_at is distinct from new.closed_at
      or old.retention_days is distinct from new.retention_days or old.archive_required <> new.archive_required
      or old.limits <> new.limits))
  execute function annals.refuse_change_of_sealed();
