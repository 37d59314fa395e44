"""Appends a record, reads it, and polls, with a client that openapi-generator makes without options."""

import os
import urllib.parse

import openapi_client

configuration = openapi_client.Configuration(host=os.environ["ANNALS_URL"], access_token=os.environ["ANNALS_TOKEN"])
with openapi_client.ApiClient(configuration) as client:
    logs = openapi_client.ProjectLogsApi(client)
    logs.append_project_log(openapi_client.AuditRecordInput(action="volume_create"))
    page = logs.list_project_logs()
    cursor = urllib.parse.parse_qs(urllib.parse.urlsplit(str(page.poll_more)).query)["cursor"][0]
    print(page.results[0].action, len(logs.list_project_logs(cursor=cursor).results))
