-- The grants for the claims of an identity, at most 200.
--
-- :issuer   text
-- :subject  text
-- :claims   text[]   each with the value at the same place in :values
-- :values   text[]
--
-- Rows, in the order in which the grants were made: id uuid, project_id uuid, project_name text, scopes text[], closed boolean (the
-- project takes no records), project_limits text, limits text (JSON objects), entered boolean (the identity has used the
-- grant before), identity_id uuid, catalogue_version bigint (of the project's actions; 0 without a catalogue).
select
  granted.id, granted.project_id, project.name as project_name, granted.scopes, project.closed_at is not null as closed,
  project.limits::text as project_limits, granted.limits::text as limits,
  exists (
    select from annals.identity_entry as entry
    join annals.identity on identity.id = entry.identity_id and identity.subject is not null
    where entry.grant_id = granted.id and entry.identity_id = annals.identity_id(:issuer::text, :subject::text)) as entered,
  annals.identity_id(:issuer::text, :subject::text) as identity_id,
  coalesce((select version from annals.catalogue where catalogue.project_id = granted.project_id), 0) as catalogue_version
from annals.identity_grant as granted
join annals.project on project.id = granted.project_id
where granted.issuer = :issuer::text and granted.revoked_at is null
  and (granted.claim, granted.value) in (
    select claim, value from unnest(:claims::text[], :values::text[]) as has (claim, value))
order by granted.id limit 200
