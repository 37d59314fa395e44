-- Makes projects, each with a token, as the administration does.
--
-- $1  uuid[]
-- $2  text[]  the SHA-256 of each token, in hexadecimal digits
select annals.issue_token(
  project_id => annals.create_project(name => 'scale ' || drawn.id, id => drawn.id),
  id => annals.sequential_guid(), token_hash => decode(drawn.hash, 'hex'), scopes => '{read,write}',
  description => null, expires_at => null, allowed_addresses => '{}')
from unnest($1::uuid[], $2::text[]) as drawn (id, hash)
