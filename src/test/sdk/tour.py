"""Uses the generated client as an application would; any surprise ends it with an error."""

import os
import urllib.parse
import uuid
from datetime import datetime, timezone

from annals_client import (
    Actor,
    ApiClient,
    ApiException,
    AuditRecordBatch,
    AuditRecordInput,
    Configuration,
    ProjectLogsApi,
)

logs = ProjectLogsApi(ApiClient(Configuration(host=os.environ["ANNALS_URL"], access_token=os.environ["ANNALS_TOKEN"])))


def cursor_of(page):
    return urllib.parse.parse_qs(urllib.parse.urlsplit(page).query)["cursor"][0]


time = datetime(2025, 9, 3, 11, 15, 19, 391447, timezone.utc)
records = [
    AuditRecordInput(
        id=uuid.uuid4(),
        action="volume_create",
        actor=Actor(type="user", name="jane@example.org"),
        ip_address="2001:db8::7",
        timestamp=time,
        metadata={"number": number},
    )
    for number in range(1, 6)
]
batch = AuditRecordBatch(records=records)
appended = logs.append_project_log_batch(batch)
assert [(r.id, r.sequence_id) for r in appended.results] == [(r.id, i) for i, r in enumerate(records, 1)]
assert logs.append_project_log_batch(batch) == appended

page = logs.list_project_logs(limit=2)
read = list(page.results)
while page.next is not None:
    page = logs.list_project_logs(cursor=cursor_of(page.next), limit=2)
    read += page.results
assert [r.id for r in read] == [r.id for r in records]
assert (read[4].timestamp, read[4].ip_address, read[4].metadata) == (time, "2001:db8::7", {"number": 5})
assert logs.get_project_log(read[4].id) == read[4]

assert logs.list_project_logs(cursor=cursor_of(page.poll_more)).results == []
stored = logs.append_project_log(AuditRecordInput(action="login"))
assert stored.sequence_id == 6
assert logs.list_project_logs(cursor=cursor_of(page.poll_more)).results == [stored]

lines = bytes(logs.export_project_logs()).decode().splitlines()
assert len(lines) == 6 and '"login"' in lines[5]

try:
    logs.append_project_log_batch(AuditRecordBatch(records=[AuditRecordInput(action="login", ip_address="nowhere")]))
    raise AssertionError("A record with a wrong address was stored")
except ApiException as refused:
    assert refused.status == 422
    assert refused.data.type == "urn:annals:problem:invalid-record"
    assert refused.data.errors[0].pointer == "/records/0/ip_address"
print("tour complete")
