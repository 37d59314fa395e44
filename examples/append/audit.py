import datetime, http.client, json, os, time, urllib.error, urllib.request, uuid

def append(**fields):
    """Appends a record; returns it once it is stored."""
    now = datetime.datetime.now(datetime.timezone.utc).isoformat()
    request = urllib.request.Request(
        os.environ["ANNALS_URL"] + "/v1/project-logs",
        json.dumps({"id": str(uuid.uuid4()), "timestamp": now, **fields}).encode(),
        {"Authorization": "Bearer " + os.environ["ANNALS_TOKEN"], "Content-Type": "application/json"})
    pause = 0.2
    for attempt in range(1, 11):
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as e:
            problem = e.read().decode(errors="replace")
            if e.code not in (429, 503):
                raise RuntimeError(problem) from None
            pause = max(pause, float(e.headers.get("Retry-After", 0)))
        except (OSError, http.client.HTTPException) as e:  # no answer: it may be stored or not
            problem = e
        if attempt < 10:
            time.sleep(pause)
            pause = min(2 * pause, 10)
    raise RuntimeError(f"not stored: {problem}")

print(json.dumps(append(action="volume_create", actor={"type": "user", "id": "u-python"})))
