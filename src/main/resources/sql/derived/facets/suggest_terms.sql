-- Reads terms of a project that begin so: of its dictionary, and of the newest records that the dictionary lacks.
--
-- :project_id  uuid
-- :field       integer  as the dictionary numbers them
-- :prefix      text     in any case
-- :limit       integer
--
-- Rows in the order of the folded terms: term text, as it was written.
with part as materialized (
  select head,
    -- Words take longer than values.
    greatest(head - case when :field::integer = 6 then 256 else 1024 end, annals.horizon(:project_id),
      (select sequence_id from annals.projection_checkpoint
       where project_id = :project_id and projection = 'search' and mark = annals.search_mark())) as behind,
    case when :field::integer = 6 then annals.word_text(:prefix) else annals.fold(:prefix) end as prefix
  from (
    select last_sequence_id as head from annals.feed_segment
    where project_id = :project_id order by first_sequence_id desc limit 1) as feed
), record as materialized (
  select r.*, part.prefix
  from part
  cross join lateral annals.places(:project_id, part.behind + 1, part.head) as place
  cross join lateral (
    select * from annals.audit_record where project_id = :project_id and id = place.record_id
    offset 0) as r
), value as materialized (
  select distinct record.prefix, value.value
  from record
  cross join lateral (
    values (1, action::text), (12, actor_type), (13, subject_type), (4, outcome), (6, action), (6, actor_type), (6, actor_id), (6, actor_name),
      (6, subject_type), (6, subject_id), (6, subject_name), (6, outcome), (6, host(ip_address)), (6, message),
      (6, annals.recorder(recorded_by_token, recorded_by_role)), (6, annals.metadata_text(metadata))) as value (field, value)
  where value.field = :field::integer and value.value > ''
  union all
  select distinct record.prefix, member.name
  from record
  cross join lateral jsonb_object_keys(case when :field::integer = 14 then record.metadata end) as member (name)
  where member.name > ''
)
select term.term
from (
  select term from annals.terms_from(:project_id, :field::integer, :prefix, :limit::integer) as term
  union
  select value from value
  where :field::integer <> 6 and annals.term(:field::integer, value) is not null and starts_with(annals.fold(value), prefix)
  union
  select word.word
  from (
    -- The dictionary has no words of longer values.
    select prefix, annals.word_text(value) as text from value
    where :field::integer = 6 and octet_length(value) <= 4096
    offset 0) as text
  cross join lateral unnest(case when strpos(text.text, text.prefix) > 0 then annals.split_words(text.text) end) as word (word)
  where starts_with(word.word, text.prefix) and not annals.is_id(word.word) and not annals.has_dense(word.word)) as term
where annals.require_readable(:project_id)
order by annals.fold(term.term) collate "C", term.term collate "C"
limit :limit
