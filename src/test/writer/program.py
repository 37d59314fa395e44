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
            # The second of these two is refused.
            id=f"00000000-0000-7000-8000-{number // 1_000_000:012d}" if number % 1_000_000 in (6, 7) else None,
            ip_address="192.0.2.1", metadata={"number": number})
        receipt.future.add_done_callback(lambda _, mine=number: os.write(1, b"%d\n" % mine))
    while not log.flush(60):
        print(log.metrics(), file=sys.stderr)
print("done")
