"""Sends what is in each spool of the folder that is its first argument; prints what each close returned."""

import itertools
import os
import sys

import annals

for number in itertools.count():
    spool = os.path.join(sys.argv[1], str(number))
    if not os.path.exists(spool):
        break
    print(annals.AuditLog(f"{os.environ['ANNALS_URL']}/{number}", os.environ["ANNALS_TOKEN"], spool=spool).close(60))
