"""Logs as many lines for the audit log as its first argument says, each with a note of as many bytes as the second says, and as many others.

The third has the options of the audit log, the fourth says how many seconds the end may take.
"""

import json
import logging
import os
import sys

import annals

count, note, timeout = int(sys.argv[1]), "n" * int(sys.argv[2]), float(sys.argv[4])
log = annals.AuditLog(os.environ["ANNALS_URL"], os.environ["ANNALS_TOKEN"], **json.loads(sys.argv[3]))
logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
logging.getLogger().addHandler(annals.AuditHandler(log, flush_timeout=timeout))
# If this is off, as in production, logging hides what handlers raise.
logging.raiseExceptions = False
shop = logging.getLogger("shop")
shop.setLevel(logging.INFO)
for number in range(count):
    shop.info("Unmarked %d", number)
    shop.info('Volume %d was "created"', number, extra={"audit": {
        "action": "volume_create", "actor": {"type": "user", "id": f"u-{number}", "name": "Jane"},
        "subject": {"type": "volume", "id": f"v-{number}"}, "outcome": "success", "ip_address": "192.0.2.1",
        "metadata": {"logger": "shop", "number": number, "note": note}}})
logging.shutdown()
print("stopped", flush=True)
if timeout < 1:
    log.close(timeout)
# Nothing but shutdown() may have sent what has arrived.
os._exit(0)
