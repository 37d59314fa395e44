-- Issues a token, and appends its event.
--
-- :project_id         uuid
-- :id                 uuid
-- :token_hash         bytea
-- :scopes             text[]
-- :description        text          may be null
-- :expires_at         timestamptz   may be null
-- :allowed_addresses  text[]        empty: everywhere
-- :actor_token        uuid          null for the configured admin token
-- :address            text          of the caller
select annals.issue_token(
  :project_id, :id, :token_hash, :scopes, :description, :expires_at, (:allowed_addresses::text[])::cidr[], :actor_token,
  (:address::text)::inet)
