import http.client, json, os, subprocess, sys, time, urllib.error, urllib.request, uuid

URL = os.environ["ANNALS_URL"] + "/v1/project-logs/import"
HEADERS = {"Authorization": "Bearer " + os.environ["ANNALS_TOKEN"], "Content-Type": "application/x-ndjson"}
# The service names up to 100 refused lines in an answer.
READ = """set time_zone = '+00:00';
select hex(id), date_format(created_at, '%Y-%m-%dT%H:%i:%s.%fZ'), hex(convert(record using utf8mb4))
from audit_outbox where refused is null order by id limit 100;"""

def sql(statements):
    command = ["mariadb", "--defaults-extra-file=outbox.cnf", "--batch", "--skip-column-names"]
    return subprocess.run(command, input=statements, text=True, check=True, stdout=subprocess.PIPE).stdout

def line(row):
    key, created_at, record = row
    fields = json.loads(bytes.fromhex(record))
    if isinstance(fields, dict):  # the service says what is wrong with anything else
        # Both are the row's, so that a repetition is the same record.
        fields = {"timestamp": created_at, **fields, "id": str(uuid.UUID(key))}
    return json.dumps(fields)

def append(lines):
    """Returns what the service has answered; sends the same lines until it does."""
    request = urllib.request.Request(URL, "\n".join(lines).encode(), HEADERS)
    pause = 0.2
    while True:
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as e:
            text = e.read().decode(errors="replace")
            if e.code == 422 and '"refusals"' in text:
                return json.loads(text)  # all lines are refused
            if e.code not in (408, 429) and e.code < 500:
                sys.exit(text)
            pause = max(pause, float(e.headers.get("Retry-After", 0)))
        except (OSError, http.client.HTTPException, ValueError):
            pass  # no answer, or half of one
        time.sleep(pause)
        pause = min(2 * pause, 10)

def relay():
    """Delivers some rows; false if there are none."""
    rows = [row.split("\t") for row in sql(READ).splitlines()]
    if not rows:
        return False
    refusals = append([line(row) for row in rows])["refusals"]
    refused = {rows[refusal["line"] - 1][0]: refusal["problem"] for refusal in refusals}
    statements = [f"update audit_outbox set refused = 0x{json.dumps(problem).encode().hex()} where id = 0x{key};"
                  for key, problem in refused.items()]
    stored = [f"0x{row[0]}" for row in rows if row[0] not in refused]
    if stored:
        statements.append(f"delete from audit_outbox where id in ({', '.join(stored)});")
    sql("\n".join(statements))
    return True

while True:
    if not relay():
        if "--once" in sys.argv:
            break
        time.sleep(1)
