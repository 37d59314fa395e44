-- What witnesses have said of a project's log last.
--
-- :project_id  uuid
--
-- Rows, at most 100: witness text, epoch integer, size bigint, cosigned_at timestamptz, error text, is_left_alone boolean.
select witness, epoch, size, cosigned_at, error, coalesce(retry_at > clock_timestamp(), false) as is_left_alone
from annals.merkle_witness
where project_id = :project_id
order by witness
limit 100
