-- Reads the last answer of each witness about a project's log, at most 100.
--
-- :project_id  uuid
--
-- Rows: witness text, epoch integer, size bigint, cosigned_at timestamptz, error text, is_left_alone boolean (must not be asked yet).
select witness, epoch, size, cosigned_at, error, coalesce(retry_at > clock_timestamp(), false) as is_left_alone
from annals.merkle_witness
where annals.require_readable(:project_id) and project_id = :project_id
order by witness
limit 100
