-- Least privilege for the two roles. Trigger functions run as their owner, so a writer needs no right on what they write.
--
-- A database restored without them gets them again with its next migration.
create or replace function annals.privilege_digest() returns text
language sql stable set search_path = pg_catalog, pg_temp
return (
  select md5(coalesce(string_agg(thing || ' ' || privilege_type || ' ' || grantee, ',' order by thing collate "C", privilege_type, grantee), ''))
  from (
    select acl.thing, acl.privilege_type, case acl.grantee when 0 then 'public' else acl.grantee::regrole::text end collate "C" as grantee
    from (
      select 'schema' as thing, acl.privilege_type, acl.grantee
      from pg_namespace as n cross join lateral aclexplode(n.nspacl) as acl where n.nspname = 'annals'
      union all
      select c.relname, acl.privilege_type, acl.grantee
      from pg_class as c cross join lateral aclexplode(c.relacl) as acl
      where c.relnamespace = 'annals'::regnamespace and c.relkind in ('r', 'v')
      union all
      select c.relname || '.' || a.attname, acl.privilege_type, acl.grantee
      from pg_class as c join pg_attribute as a on a.attrelid = c.oid cross join lateral aclexplode(a.attacl) as acl
      where c.relnamespace = 'annals'::regnamespace
      union all
      select p.proname || '()', acl.privilege_type, acl.grantee
      from pg_proc as p cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) as acl
      where p.pronamespace = 'annals'::regnamespace) as acl
    where acl.grantee = 0 or acl.grantee in (to_regrole('annals_writer')::oid, to_regrole('annals_service')::oid)) as held);

-- Each privilege is granted here and nowhere else, so the file begins by taking all of them.
revoke all on all functions in schema annals from public;
revoke all on all tables in schema annals from public;

revoke all on all functions in schema annals from annals_writer, annals_service;
revoke all on all tables in schema annals from annals_writer, annals_service;
revoke all on all sequences in schema annals from annals_writer;

grant usage on schema annals to annals_writer, annals_service;

-- annals_writer: appends records. It sets what a record says, and nothing of what the database knows about it: which
-- append it belongs to, its number, when it came and from whom.
grant insert (project_id, id, "timestamp", action, actor_type, actor_id, actor_name, subject_type, subject_id,
  subject_name, outcome, ip_address, message, metadata, number_sequence)
  on annals.audit_record to annals_writer;
-- Defaults and the checks of types are evaluated as the writer.
grant execute on function annals.sequential_guid(), annals.is_servable_metadata(jsonb), annals.is_owner(), annals.is_reserved(text),
  annals.skeleton(text), annals.where_is(text)
  to annals_writer;

-- annals_service: appends and reads records. It changes or removes them, and changes projects and tokens, only by functions
-- that leave an event of it.
grant select on annals.project, annals.access_token, annals.audit_record, annals.append, annals.feed_segment, annals.place,
  annals.feed to annals_service;
grant insert on annals.append to annals_service;
grant insert (project_id, id, placed_with, "timestamp", recorded_at, action, actor_type, actor_id, actor_name, subject_type,
  subject_id, subject_name, outcome, ip_address, message, metadata, number_sequence, number_value, recorded_by_token,
  recorded_by_role)
  on annals.audit_record to annals_service;
-- An instance that does not migrate checks the version.
grant select on annals.flyway_schema_history to annals_service;
grant execute on function annals.recorder(uuid, text), annals.is_identity_id(uuid), annals.sequence_id(uuid, uuid, uuid), annals.places(uuid, bigint, bigint),
  annals.is_servable_metadata(jsonb), annals.is_owner(), annals.is_reserved(text), annals.skeleton(text), annals.is_held_id(text),
  annals.require_readable(uuid),
  annals.held_ids(uuid, integer[], uuid[]), annals.append_apart to annals_service;

grant select on annals.database, annals.database_end to annals_service;
grant execute on function annals.add_database(uuid, text), annals.is_member(), annals.database_state(),
  annals.has_place(uuid, bigint, integer), annals.note_end(uuid, text, bigint, integer, bigint, bytea),
  annals.counter_claims(text, jsonb), annals.mark_at(uuid, bigint),
  annals.admit(text, jsonb, jsonb, boolean) to annals_service;

grant execute on function annals.administration(), annals.create_project(text, uuid, uuid, inet, text),
  annals.database_of(annals.project),
  annals.rename_project(uuid, text, uuid, inet), annals.close_project(uuid, uuid, inet),
  annals.issue_token(uuid, uuid, bytea, text[], text, timestamptz, cidr[], uuid, inet),
  annals.rotate_token(uuid, uuid, uuid, bytea, interval, uuid, inet), annals.revoke_token(uuid, uuid, uuid, inet),
  annals.expire_tokens(integer), annals.begin_administration(uuid, bytea, uuid, uuid, bytea),
  annals.limit_project(uuid, jsonb, uuid, inet), annals.limit_token(uuid, uuid, jsonb, uuid, inet),
  annals.issue_link(uuid, uuid, bytea, text[], jsonb, integer, uuid, inet), annals.note_token_use(uuid[]),
  annals.record_operation(text, text, text, text, jsonb, uuid, inet), annals.note_state(text, jsonb)
  to annals_service;

-- Identities: administrators grant, the service notes the use.
grant select on annals.identity, annals.identity_grant, annals.identity_entry to annals_service;
grant execute on function annals.identity_id(text, text),
  annals.grant_identity(uuid, uuid, text, text, text, text[], text, jsonb, uuid, inet),
  annals.revoke_identity_grant(uuid, uuid, uuid, inet), annals.enter_identity(text, text, uuid[], inet) to annals_service;

-- The only change of records.
grant select on annals.redaction to annals_service;
grant execute on function annals.redact(uuid, uuid, text[], text, text, bytea, uuid, uuid, inet) to annals_service;

grant select on annals.look to annals_service;
grant execute on function annals.set_look(uuid, text, text, bytea, text[], uuid, inet) to annals_service;

grant select on annals.legal_hold to annals_service;
grant execute on function annals.set_hold(uuid, uuid, text, text, text, uuid, inet),
  annals.lift_hold(uuid, uuid, text, uuid, inet) to annals_service;
-- remove_expired() decides which records expire.
grant select on annals.feed_horizon to annals_service;
grant execute on function annals.horizon(uuid), annals.set_retention(uuid, integer, uuid, inet),
  annals.remove_expired(uuid, integer, bytea) to annals_service;

-- Archives.
grant select on annals.archive, annals.restored_archive to annals_service;
grant execute on function annals.archived_through(uuid), annals.awaits_archive(uuid), annals.is_new(),
  annals.note_archive(uuid, uuid, bigint, bigint, text, bigint, bytea, uuid, inet),
  annals.require_archive(uuid, boolean, uuid, inet) to annals_service;

-- Streams change by functions; the service updates their progress.
grant select on annals.stream to annals_service;
grant select, update (cursor, rewinds, archived_through, member_head, epoch, leased_by, leased_until, turn_at, failures, refusals, retry_at, last_error, failed_at,
  delivered_at, delivered, dead_letters) on annals.stream_progress to annals_service;
grant select, insert on annals.stream_dead_letter to annals_service;
grant select, delete on annals.stream_death to annals_service;
grant execute on function
  annals.set_stream(uuid, uuid, text, text, text, bytea, text, jsonb, text, integer, boolean, boolean, text, integer, uuid, inet, boolean),
  annals.pause_stream(uuid, text, uuid, inet, boolean), annals.resume_stream(uuid, text, uuid, inet, boolean),
  annals.rewind_stream(uuid, text, uuid, text, uuid, inet, boolean), annals.delete_stream(uuid, text, uuid, inet, boolean),
  annals.stop_stream(uuid, uuid, bigint, text), annals.note_stream_deaths(uuid, integer), annals.followed_head(annals.stream_progress)
  to annals_service;

-- Alerts change by functions; the service updates the turn and the failures.
grant select, update (turn_at, failures, retry_at, last_error, failed_at) on annals.alert to annals_service;
grant execute on function
  annals.set_alert(uuid, uuid, text, text, bigint, integer, boolean, integer, uuid, inet),
  annals.delete_alert(uuid, text, uuid, inet), annals.advance_alert(uuid, bigint, timestamptz, bigint, bigint, boolean)
  to annals_service;

-- Catalogues of actions change by functions.
grant select on annals.catalogue, annals.catalogue_action to annals_service;
grant execute on function annals.set_catalogue(uuid, text, text, jsonb, boolean, integer, integer, uuid, inet),
  annals.delete_catalogue_action(uuid, text, uuid, inet) to annals_service;

grant select on annals.saved_view to annals_service;
grant execute on function annals.set_view(uuid, uuid, text, jsonb, text, jsonb, integer, uuid, inet),
  annals.delete_view(uuid, text, uuid, inet) to annals_service;

-- Sequences. Their rows stay.
grant select, insert, update (next_value, reserved_from, deleted_at) on annals.sequence to annals_service;
grant select, insert, update, delete on annals.sequence_series to annals_service;
grant execute on function annals.native_sequence_name(uuid), annals.draw_native(uuid, integer), annals.claim_series(uuid) to annals_service;

-- For tables of the caller's own.
grant execute on function annals.max_plus_one(regclass, name), annals.attach_commit_order(regclass, name, name),
  annals.detach_commit_order(regclass, name) to annals_writer, annals_service;
grant select, insert, update (column_name) on annals.max_plus_one_lock to annals_writer, annals_service;
-- Writers of such a table call it.
grant execute on function annals.note_commit_row(text, text, jsonb) to public;

-- Derived data can be derived again.
grant select, update (generation) on annals.projection to annals_service;
grant select, insert, update (sequence_id, generation, mark) on annals.projection_checkpoint to annals_service;
grant select, insert, update (record_count), delete on annals.daily_count to annals_service;
grant select, insert, update (record_count, combination_count, actor_combination_count), delete on annals.daily_total to annals_service;
grant select, insert, delete on annals.search_block to annals_service;
grant select, insert, update (seen), delete on annals.term to annals_service;
grant execute on function annals.combination_key(text, text, text), annals.cased_letters(), annals.folded_letters(), annals.case_folding(),
  annals.is_nearly_folded(text), annals.is_normal(text), annals.later_characters(), annals.combining_characters(),
  annals.normalized_in_parts(text, text), annals.normalized(text, text), annals.fold_unicode(text), annals.fold(text),
  annals.words(text), annals.word_text(text), annals.unicode_word_text(text), annals.metadata_text(jsonb), annals.record_text(annals.audit_record),
  annals.split_words(text), annals.has_dense(text), annals.pairs(text), annals.indexed_words(text), annals.sought(text, boolean), annals.is_id(text), annals.has_within(text, text), annals.number_of(jsonb), annals.time_of(jsonb), annals.beside_dense(text), annals.term(integer, text),
  annals.networks(inet), annals.pattern_keys(uuid, integer, boolean, text, integer),
  annals.terms_from(uuid, integer, text, integer), annals.search_mark(), annals.projection_mark(text),
  annals.search_key(uuid, integer, text), annals.search_entry(bigint, integer), annals.search_entries(bigint, integer[]) to annals_service;

-- The tree of a feed's log only grows.
grant select, insert on annals.merkle_tile, annals.merkle_seed to annals_service;
grant select, insert, update (size, frontier, signed_size, checkpoint, incarnation, halted, cosigned, cosigned_size, offered_at)
  on annals.merkle_log to annals_service;
grant select, insert, update (epoch, size, cosigned_at, error, retry_at) on annals.merkle_witness to annals_service;
grant select on annals.merkle_epoch to annals_service;

-- Up to where feeds were verified is not evidence: this role could skip the verification as well.
grant select, insert, update (sequence_id, round_at, found, found_before, due_at) on annals.verification to annals_service;

grant execute on function annals.feed_lock_holders(), annals.end_feed_lock_holder(integer, xid, interval) to annals_service;

-- Moves of projects. No role but the owner removes records that were placed here: remove_left().
grant select on annals.move, annals.arrival to annals_service;
grant execute on function annals.begin_move(uuid, text, bigint), annals.feed_end(uuid), annals.seal_project(uuid, text, bigint),
  annals.moved_rest(uuid), annals.moved_digests(uuid), annals.moved_page(uuid, text, jsonb, integer),
  annals.moved_digest(uuid, text, jsonb, jsonb), annals.moved_rows(uuid, text, jsonb, jsonb), annals.moved_differences(uuid, jsonb),
  annals.leave_project(uuid, bigint), annals.stay_here(uuid, bigint),
  annals.arrive_project(uuid, text, jsonb, text, bigint, uuid), annals.stage_arrival(), annals.note_checked(uuid, bigint, bigint, bytea),
  annals.take_places(uuid, bigint, uuid[], bigint[], bigint[], integer[]),
  annals.take_redactions(uuid, bigint, jsonb), annals.take_tree(uuid, bigint, jsonb, jsonb),
  annals.take_rows(uuid, bigint, text, jsonb, jsonb, jsonb), annals.take_rest(uuid, bigint, text, jsonb),
  annals.open_project(uuid, bigint, jsonb, boolean), annals.discard_arrival(uuid, bigint, integer),
  annals.start_move(uuid, uuid, text, text, uuid, inet), annals.lease_move(uuid, uuid, integer),
  annals.release_move(uuid, uuid), annals.note_move(uuid, bigint, text),
  annals.cancel_move(uuid, uuid, inet), annals.switch_move(uuid, text, bigint, bigint, bytea, jsonb), annals.end_move(uuid)
  to annals_service;
