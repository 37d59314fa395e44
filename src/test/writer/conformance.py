"""Runs the cases of conformance.json in spools of the folder that is its first argument; prints what each close returned."""

import json
import os
import sys

import annals

url, token = os.environ["ANNALS_URL"], os.environ["ANNALS_TOKEN"]
with open("clients/conformance.json", encoding="utf-8") as file:
    cases = json.load(file)["cases"]
for number, case in enumerate(cases):
    options = case.get("options", {})
    spool = os.path.join(sys.argv[1], str(number))
    away = annals.AuditLog(url + "/away", token, spool=spool, longest_pause=3_600)
    for record in case["records"]:
        away.append(**record)
    away.close(0)
    log = annals.AuditLog(url + f"/{number}", token, spool=spool, first_pause=0.001, batch_records=options.get("batch", 1_000),
                          longest_pause=options.get("longest_pause", 20) / 1_000)
    print(log.close(case.get("close", 60_000) / 1_000))
