"""Writes to the cluster of compose.yaml through its proxy and follows its feed, while an instance and the database are killed.

Arguments: the proxy's URL, an admin token, and the containers of the instance, the database and the standby. At the end it
compares the writers' answers with the readers' pages: each record in its place, exactly once, without a gap.
"""
import http.client
import json
import subprocess
import sys
import threading
import time
import urllib.parse
import uuid

URL, ADMIN, INSTANCE, DATABASE, STANDBY = sys.argv[1:]
HOST = urllib.parse.urlsplit(URL).netloc
WRITERS, READERS = 6, 3
# How long the cluster works undisturbed before and after each fault, and the longest that it may take to come back.
CALM, COME_BACK = 8, 60

ending = threading.Event()
broken = []
told = [[] for _ in range(WRITERS)]
seen = [[] for _ in range(READERS)]
refused = []
answered = []


class Client:
    """One connection at a time, to the proxy."""

    def __init__(self, token):
        self.token, self.connection = token, None

    def send(self, method, path, body=None):
        """The status and the answer; 0 if there was no answer."""
        try:
            if not self.connection:
                self.connection = http.client.HTTPConnection(HOST, timeout=90)
            headers = {"Authorization": "Bearer " + self.token, "Content-Type": "application/json"}
            self.connection.request(method, path, json.dumps(body) if body else None, headers)
            response = self.connection.getresponse()
            content = response.read()
            # The proxy's own errors are not JSON.
            return response.status, json.loads(content) if response.status < 300 else content
        except (OSError, http.client.HTTPException) as failure:
            self.connection = None
            return 0, failure


def write(index, token):
    client = Client(token)
    number = 0
    while not ending.is_set() and not broken:
        number += 1
        record = {"id": str(uuid.uuid4()), "action": "load", "metadata": {"writer": index, "number": number}}
        # Sent again under the same id until it is acknowledged, as docs/writing.md says.
        while not broken:
            status, answer = client.send("POST", "/v1/project-logs", record)
            if status in (200, 201):
                told[index].append((answer["sequence_id"], record["id"]))
                answered.append(time.monotonic())
                break
            if 400 <= status < 500:
                broken.append(f"a write was answered with {status}: {answer}")
            refused.append(("write", status))
            time.sleep(0.1)


def read(index, token, last):
    """Follows the feed until it has seen as much as writers were told."""
    client = Client(token)
    path = "/v1/project-logs?limit=500"
    while not broken:
        status, page = client.send("GET", path)
        if status != 200:
            if 400 <= status < 500:
                broken.append(f"a page was answered with {status}: {page}")
            refused.append(("read", status))
            time.sleep(0.1)
            continue
        seen[index].extend((record["sequence_id"], record["id"]) for record in page["results"])
        if last.is_set() and not page["results"]:
            return
        link = urllib.parse.urlsplit(page["next"] or page["poll_more"])
        path = link.path + "?" + link.query
        if not page["next"]:
            time.sleep(0.05)


def podman(*arguments):
    return subprocess.run(["podman", *arguments], check=True, capture_output=True, text=True).stdout.strip()


def address():
    return podman("inspect", "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", INSTANCE)


def await_answers(count):
    goal, end = len(answered) + count, time.monotonic() + COME_BACK
    while len(answered) < goal and not broken:
        if time.monotonic() > end:
            broken.append(f"{count} records were not acknowledged within {COME_BACK} s")
        time.sleep(0.1)


def longest_pause(since, until):
    """Between two acknowledgements of any writers."""
    times = sorted(moment for moment in answered if since <= moment <= until)
    return max((after - before for before, after in zip(times, times[1:])), default=until - since)


def fault(name, act):
    """The refusals, and the longest time without any answer, from a moment before the fault until long after it."""
    if broken:
        return
    since, before = time.monotonic() - 1, len(refused)
    act()
    await_answers(300)
    if broken:
        return
    time.sleep(CALM)
    after = refused[before:]
    statuses = ", ".join(f"{kind} {status or 'no answer'}: {after.count((kind, status))}" for kind, status in sorted(set(after)))
    print(f"{name}: longest pause {longest_pause(since, time.monotonic()):.1f} s; sent again: {statuses or 'nothing'}", flush=True)


def kill_database():
    podman("kill", "--signal", "KILL", DATABASE)
    # Meanwhile the standby answers with the beginning of the feed.
    count, highest = podman(
        "exec", STANDBY, "psql", "--username=annals", "--dbname=annals", "--no-align", "--tuples-only", "--field-separator= ",
        f"--command=select count(*), max(sequence_id) from annals.feed where project_id = '{project}'").split()
    print(f"standby, while the database is away: records 1 to {highest}", flush=True)
    if count != highest:
        broken.append(f"the standby has {count} records and its highest sequence id is {highest}")
    time.sleep(2)
    podman("start", DATABASE)


def kill_instance():
    podman("kill", "--signal", "KILL", INSTANCE)


def start_instance():
    """Until the proxy sends it requests again, under another address."""
    before = address()
    podman("container", "cleanup", INSTANCE)
    begun = str(int(time.time()))
    podman("start", INSTANCE)
    if address() == before:
        broken.append(f"the instance that was started again has still the address {before}")
    end = time.monotonic() + COME_BACK
    while "operation=appendProjectLog " not in podman("logs", "--since", begun, INSTANCE):
        if time.monotonic() > end:
            broken.append(f"the instance that was started again got no request within {COME_BACK} s")
            return
        time.sleep(0.5)


def verdict():
    if broken:
        # No reader reached the end.
        return "\n".join(broken)
    wrong = []
    acknowledged = {identifier: sequence_id for writer in told for sequence_id, identifier in writer}
    count = sum(map(len, told))
    lost = doubled = 0
    for index, feed in enumerate(seen):
        places = {}
        for sequence_id, identifier in feed:
            doubled += identifier in places
            places[identifier] = sequence_id
        lost += sum(places.get(identifier) != sequence_id for identifier, sequence_id in acknowledged.items())
        if [sequence_id for sequence_id, _ in feed] != list(range(1, len(feed) + 1)):
            wrong.append(f"reader {index} did not see 1 to {len(feed)} in order, without a gap")
        if len(places) != len(acknowledged):
            wrong.append(f"reader {index} saw {len(places)} records, writers were told of {len(acknowledged)}")
    for index, writer in enumerate(told):
        if writer != sorted(writer):
            wrong.append(f"writer {index} was told places that are not in the order in which it wrote")
    if lost or doubled:
        wrong.append("records were lost or doubled")
    print(f"acknowledged {count}, lost {lost}, doubled {doubled}, read by each of {READERS} readers {min(map(len, seen))}, "
          f"longest pause {longest_pause(0, time.monotonic()):.1f} s")
    return "\n".join(wrong)


admin = Client(ADMIN)
project = admin.send("POST", "/v1/projects", {"name": "load"})[1]["id"]
token = admin.send("POST", f"/v1/projects/{project}/tokens", {"scopes": ["read", "write"]})[1]["token"]
last = threading.Event()
writers = [threading.Thread(target=write, args=(index, token)) for index in range(WRITERS)]
readers = [threading.Thread(target=read, args=(index, token, last)) for index in range(READERS)]
for thread in writers + readers:
    thread.start()
try:
    await_answers(300)
    time.sleep(CALM)
    fault("an instance is killed", kill_instance)
    fault("it is started again", start_instance)
    fault("the database is killed, and started", kill_database)
finally:
    ending.set()
    for thread in writers:
        thread.join()
    last.set()
    for thread in readers:
        thread.join()
sys.exit(verdict() or 0)
