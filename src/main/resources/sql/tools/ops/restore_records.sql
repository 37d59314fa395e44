-- Inserts the next records of an archive, as pages with proof show them. Their appends are unknown.
--
-- :project_id  uuid
-- :records     text[]   JSON objects, in their order
insert into annals.audit_record (
  project_id, id, "timestamp", recorded_at, action, actor_type, actor_id, actor_name, subject_type, subject_id, subject_name,
  outcome, ip_address, message, metadata, number_sequence, number_value, recorded_by_token, recorded_by_role, redaction)
select
  :project_id,
  (record ->> 'id')::uuid,
  (record ->> 'timestamp')::timestamptz,
  (record ->> 'recorded_at')::timestamptz,
  record ->> 'action',
  record #>> '{actor,type}',
  record #>> '{actor,id}',
  record #>> '{actor,name}',
  record #>> '{subject,type}',
  record #>> '{subject,id}',
  record #>> '{subject,name}',
  record ->> 'outcome',
  (record ->> 'ip_address')::inet,
  record ->> 'message',
  nullif(record -> 'metadata', '{}'),
  record #>> '{number,sequence}',
  (record #>> '{number,value}')::bigint,
  -- One column has tokens and identities.
  case when not starts_with(record ->> 'recorded_by', 'role:') then split_part(record ->> 'recorded_by', ':', 2)::uuid end,
  case when starts_with(record ->> 'recorded_by', 'role:') then substr(record ->> 'recorded_by', 6) end,
  case when jsonb_exists(record, 'redacted')
    then jsonb_build_object('salts', record -> 'salts', 'redacted', record -> 'redacted') end
from (
  select text::jsonb as record, place from unnest(:records::text[]) with ordinality as line (text, place)) as line
order by place
