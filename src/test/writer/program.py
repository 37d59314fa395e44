"""Appends numbers to the spool that is its first argument, from the second on, as many as the third says; prints each that is safe."""

import os
import sys

import annals

spool, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with annals.AuditLog(os.environ["ANNALS_URL"], os.environ["ANNALS_TOKEN"], spool=spool, segment_bytes=1 << 20,
                     spool_bytes=4 << 20, buffer_records=1_000, first_pause=0.01, longest_pause=0.5) as log:
    for number in range(first, first + count):
        receipt = log.append(
            "append", actor={"type": "user", "id": "u-1", "name": 'Jane "J" Doe\n\0\ud800'},
            ip_address="no address" if number % 1_000_000 == 7 else "192.0.2.1", metadata={"number": number})
        receipt.future.add_done_callback(lambda _, mine=number: os.write(1, b"%d\n" % mine))
    while not log.flush(60):
        print(log.metrics(), file=sys.stderr)
print("done")
