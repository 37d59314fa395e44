import os, sqlite3, time, urllib.parse
from annals_client import ApiClient, Configuration, ProjectLogsApi

logs = ProjectLogsApi(ApiClient(Configuration(host=os.environ["ANNALS_URL"], access_token=os.environ["ANNALS_TOKEN"])))
copy = sqlite3.connect("records.db")
copy.execute("create table if not exists record (sequence_id integer primary key, json text not null)")
copy.execute("create table if not exists place (one integer primary key check (one = 1), cursor text not null)")
while True:
    cursor = copy.execute("select max(cursor) from place").fetchone()[0]
    page = logs.list_project_logs(cursor=cursor, limit=1000)
    behind = urllib.parse.parse_qs(urllib.parse.urlsplit(page.next or page.poll_more).query)["cursor"][0]
    with copy:  # One transaction: the records, and the place behind them.
        copy.executemany("insert into record values (?, ?)", [(r.sequence_id, r.to_json()) for r in page.results])
        copy.execute("insert or replace into place values (1, ?)", [behind])
    if page.next is None:
        time.sleep(1)
