-- The condition of a filter on a record r, for the statements that include it. Null matches any value.
--
-- :start        timestamptz
-- :end          timestamptz   exclusive
-- :action       text
-- :actor        text          id or name
-- :subject      text          id or name
-- :outcome      text
-- :ip_address   text
-- :q            text          words, in any fields
-- :recorded_by  text          token: or identity: and its id, or role: and its name
-- :actor_id     text          the actor's id; in addition to :actor
-- :subject_id   text          the subject's id; in addition to :subject
-- :terms        text[]        the texts of the query, in the order of its condition; null: no query
(:start::timestamptz is null or r."timestamp" >= :start)
and (:end::timestamptz is null or r."timestamp" < :end)
and (:action::text is null or r.action = :action)
and (:actor::text is null or r.actor_id = :actor or r.actor_name = :actor)
and (:subject::text is null or r.subject_id = :subject or r.subject_name = :subject)
and (:actor_id::text is null or r.actor_id = :actor_id)
and (:subject_id::text is null or r.subject_id = :subject_id)
and (:outcome::text is null or r.outcome = :outcome)
and (:ip_address::text is null or host(r.ip_address) = :ip_address)
and (:recorded_by::text is null or annals.recorder(r.recorded_by_token, r.recorded_by_role) = :recorded_by)
-- Most records fail the first test, which is much cheaper. A subquery that does not depend on the record is computed once.
and (:q::text is null or case
  when annals.word_text(annals.record_text(r)) like all (array(select '%' || word || '%' from unnest(annals.words(:q::text)) as word))
  then annals.split_words(annals.word_text(annals.record_text(r))) @> (select annals.words(:q::text))
  else false end)
and /* condition */ :terms::text[] is null
