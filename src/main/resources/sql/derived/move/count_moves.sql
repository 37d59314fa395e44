-- The moves in home that go on.
--
-- One row: copying bigint, switched bigint, cancelling bigint.
select
  count(*) filter (where state = 'copying') as copying,
  count(*) filter (where state = 'switched') as switched,
  count(*) filter (where state = 'cancelling') as cancelling
from annals.move where ended_at is null
