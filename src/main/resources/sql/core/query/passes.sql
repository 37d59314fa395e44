-- What filters let pass: a condition on a record r, for the statements that include it. Null is any.
--
-- :start        timestamptz
-- :end          timestamptz   exclusive
-- :action       text
-- :actor        text          id or name
-- :subject      text          id or name
-- :outcome      text
-- :ip_address   text
-- :q            text          words
-- :recorded_by  text          token: or identity: and its id, or role: and its name
-- :actor_id     text          of the actor, and no name; besides :actor
-- :subject_id   text          of the subject, and no name; besides :subject
-- :terms        text[]        what the query compares with, of which its condition takes one after the other; null: no query
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
-- Most messages fail the first test, which is much cheaper. What does not depend on the record is a subquery, and computed once.
and (:q::text is null or case
  when annals.fold(r.message) like all (array(select '%' || word || '%' from unnest(annals.words(:q::text)) as word))
  then annals.words(r.message) @> (select annals.words(:q::text))
  else false end)
and /* condition */ :terms::text[] is null
